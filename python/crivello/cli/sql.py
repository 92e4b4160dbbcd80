"""`crivello sql`: ask the tables."""

from __future__ import annotations

import csv
import itertools
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crivello.errors import UsageError

if TYPE_CHECKING:
    from crivello.store.reader import Snapshot
    from crivello.store.sql import Rows


def sql(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the crawl.")],
    query: Annotated[
        str | None,
        typer.Argument(metavar="[QUERY]", help="One SQL query; without it, what there is to ask."),
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a row.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Comma-separated, with a header.")] = False,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, help="Rows shown in the table for reading.")
    ] = 100,
    memory: Annotated[
        str, typer.Option(metavar="SIZE", help="Memory for the query; more goes to disk.")
    ] = "512MiB",
) -> None:
    """Ask the tables of a crawl in SQL, while it runs or afterwards.

    The SQL is DuckDB's. Tables: urls, pages, links, robots, clusters; view urls_state: every
    URL with its latest state (queued, stored, redirect, denied, failed). Answers are as of the
    last checkpoint.

    \b
    Examples:
      crivello sql example                            the tables and their columns
      crivello sql example 'select state, count(*) from urls_state group by 1'
      crivello sql example "select url, status from pages where status >= 400" --csv
      crivello sql example 'select * from links' --json > links.jsonl
    """
    from crivello.store.reader import Snapshot
    from crivello.units import parse_size

    try:
        size = parse_size(memory)
    except ValueError:
        raise UsageError(f"--memory {memory!r}: allowed is a size as 512MiB") from None
    with Snapshot.open(directory) as snapshot:
        if query is None:
            _describe(snapshot)
            return
        rows = snapshot.sql(query, memory=int(str(size)))
        if as_json:
            _print_json(rows)
        elif as_csv:
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(rows.columns)
            writer.writerows(rows)
        else:
            _print_table(rows, limit)


def _describe(snapshot: Snapshot) -> None:
    from crivello.store.schema import TABLES

    for table, layout in TABLES.items():
        print(f"{table} ({snapshot.count(table):,} rows)")
        for field in layout.schema:
            print(f"  {field.name:<16}{field.type}")


def _print_json(rows: Rows) -> None:
    from crivello.store.jsonl import json_rows, plain

    for batch in rows.batches():
        for row in json_rows(batch):
            print(json.dumps(row, ensure_ascii=False, default=plain))


def _print_table(rows: Rows, limit: int) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from crivello.cli.screen import say

    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in rows.columns:
        table.add_column(Text(column), overflow="fold")
    some = list(itertools.islice(rows, limit + 1))
    for row in some[:limit]:
        table.add_row(*(Text("" if value is None else str(value)) for value in row))
    terminal = sys.stdout.isatty()
    Console(width=None if terminal else 10_000, soft_wrap=not terminal).print(table)
    if len(some) > limit:
        say(f"{limit} rows are shown; --limit N, --csv and --json give more")
