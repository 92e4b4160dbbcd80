"""`crivello sql`: ask the tables."""

from __future__ import annotations

import csv
import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crivello.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from crivello.store.reader import Snapshot
    from crivello.store.sql import Rows

_GAP = "   "  # between the columns of a table
_READABLE = 20  # characters a line that a column should have
_LONG = 400  # characters of a value that are shown where rows stand one column a line


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
    from rich.console import Console

    from crivello.cli.screen import say

    some = list(itertools.islice(rows, limit + 1))
    cells = [["" if value is None else str(value) for value in row] for row in some[:limit]]
    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else 10_000, soft_wrap=not terminal, highlight=False)
    if terminal and too_wide(rows.columns, cells, console.width):
        console.print(one_below_another(rows.columns, cells))
        if any(len(cell) > _LONG for row in cells for cell in row):
            say("values that end with … are longer; --csv and --json give them whole")
    else:
        console.print(_table(rows.columns, cells))
    if len(some) > limit:
        say(f"{limit} rows are shown; --limit N, --csv and --json give more")


def too_wide(columns: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> bool:
    """Whether a table would leave its columns less room than they need to be read.

    >>> too_wide(["url", "title"], [["http://a.example/" * 9, "A long title " * 9]], 80)
    False
    >>> too_wide(["a"] * 30, [["1"] * 30], 80)
    True
    """
    needed = len(_GAP) * (len(columns) - 1)
    for place, name in enumerate(columns):
        needed += min(_READABLE, max([len(name), *(len(row[place]) for row in cells)]))
    return needed > width


def one_below_another(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> Text:
    """Rows as blocks of lines, a column a line; long values are cut.

    >>> print(one_below_another(["url", "status"], [["http://a.example/", "200"]]).plain)
    url     http://a.example/
    status  200
    """
    from rich.text import Text

    from crivello.cli.screen import harmless

    indent = max(map(len, columns))
    told = Text()
    for number, row in enumerate(cells):
        told.append("\n\n" if number else "")
        for place, (name, cell) in enumerate(zip(columns, row, strict=True)):
            shown = cell if len(cell) <= _LONG else cell[:_LONG] + "…"
            told.append("\n" if place else "")
            told.append(f"{name:<{indent}}", style="bold")
            told.append(f"  {harmless(shown)}".rstrip())
    return told


def _table(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from crivello.cli.screen import harmless

    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    for row in cells:
        table.add_row(*(Text(harmless(cell)) for cell in row))
    return table
