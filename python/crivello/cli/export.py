"""`crivello export`: a table as one file for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def export(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the crawl.")],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="File to write.")],
    *,
    to: Annotated[str, typer.Option(metavar="jsonl|parquet", help="Format of the file.")] = "jsonl",
    table: Annotated[
        str, typer.Option(metavar="NAME", help="urls, pages, links, robots or clusters.")
    ] = "pages",
    columns: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Only these columns.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")] = False,
) -> None:
    """Write a table of a crawl to one file, while it runs or afterwards.

    OUT appears when it is complete, or not at all. JSON lines give hashes as 16 hex digits and
    times as ISO 8601 in UTC.

    \b
    Examples:
      crivello export example pages.jsonl
      crivello export example --to parquet --table links links.parquet
      crivello export example titles.jsonl --columns url,title,fetched_at
    """
    from crivello.cli.screen import say
    from crivello.store import export as exporting

    names = [name.strip() for name in columns.split(",")] if columns else None
    told = 0

    def on_progress(done: int, total: int) -> None:
        nonlocal told
        if sys.stderr.isatty() and total and done * 100 // total > told:
            told = done * 100 // total
            print(f"\rcrivello: {table} {told} %", end="", file=sys.stderr, flush=True)

    rows = exporting.export(
        directory, output, table=table, to=to, columns=names, force=force, on_progress=on_progress
    )
    if told:
        print("\r\033[K", end="", file=sys.stderr)
    say(f"{output}: {rows:,} rows of {table}")
