"""`crivello export`: tables and pages for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def export(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the crawl.")],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="File to write; for text and markdown a folder.")
    ],
    *,
    to: Annotated[
        str, typer.Option(metavar="jsonl|parquet|text|markdown|warc", help="Format.")
    ] = "jsonl",
    table: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="urls, pages, links, robots or clusters. [pages]"),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Only these columns of the table.")
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="SQL", help="text, markdown, warc: only pages for which this holds."),
    ] = None,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="text, markdown, warc: only this host.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it is a file.")] = False,
) -> None:
    """Write a crawl for other programs, while it runs or afterwards.

    jsonl and parquet give a table as one file: hashes as 16 hex digits and times as ISO 8601 in
    UTC. text and markdown give a folder with a file a page (the latest with status 200), laid
    out as HOST/PATH, and index.jsonl, which says what each file is. warc gives one file with the
    archive's records as they stand. OUT appears when it is complete, or not at all.

    \b
    Examples:
      crivello export example pages.jsonl
      crivello export example --to parquet --table links links.parquet
      crivello export example titles.jsonl --columns url,title,fetched_at
      crivello export example --to markdown pages --host docs.example.org
      crivello export example --to warc part.warc.gz --where "mime = 'text/html'"
    """
    from crivello.cli.screen import say
    from crivello.errors import UsageError
    from crivello.store import export as exporting
    from crivello.store import export_pages

    formats = (*exporting.FORMATS, *export_pages.FORMATS)
    if to not in formats:
        raise UsageError(f"--to {to}: there is none; the formats are {', '.join(formats)}")
    of_pages = to in export_pages.FORMATS
    if of_pages and (table or columns):
        raise UsageError(f"--to {to} writes pages: leave out --table and --columns")
    if not of_pages and (where or host):
        raise UsageError(f"--to {to} writes a whole table: leave out --where and --host")
    told = 0

    def on_progress(done: int, total: int) -> None:
        nonlocal told
        if sys.stderr.isatty() and total and done * 100 // total > told:
            told = done * 100 // total
            print(f"\rcrivello: {table or 'pages'} {told} %", end="", file=sys.stderr, flush=True)

    if of_pages:
        rows = export_pages.export_pages(
            directory, output, to=to, where=where, host=host, force=force, on_progress=on_progress
        )
    else:
        rows = exporting.export(
            directory,
            output,
            table=table or "pages",
            to=to,
            columns=[name.strip() for name in columns.split(",")] if columns else None,
            force=force,
            on_progress=on_progress,
        )
    if told:
        print("\r\033[K", end="", file=sys.stderr)
    what = "records" if to == "warc" else "pages" if of_pages else f"rows of {table or 'pages'}"
    say(f"{output}: {rows:,} {what}")
