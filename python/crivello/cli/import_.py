"""`crivello import`: archives of others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from crivello.crawl import Imported, Watch

_TOLD = 10


def import_(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Directory of the crawl; a new one is made.")
    ],
    warcs: Annotated[
        list[Path], typer.Argument(metavar="WARC...", help="Files: .warc, .warc.gz, .warc.zst.")
    ],
    *,
    scope: Annotated[
        str | None,
        typer.Option(
            metavar="page|prefix|host|domain|any",
            help="For a new DIR: how far a crawl will go from its seeds. [host]",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was done as one JSON object.")
    ] = False,
) -> int:
    """Take the pages of WARC files into a crawl, as if they had been fetched.

    They are parsed, archived and stored like any page, and their URLs count as known: a later
    crawl does not ask for them again, but follows their links as far as its scope goes. A page
    that DIR holds from the same instant is passed over: an import that was stopped or killed is
    simply run again.

    \b
    Examples:
      crivello import old old-*.warc.gz
      crivello crawl https://example.org/ -o old --contact you@example.org      go on from there
    """
    from crivello.cli.crawl import stopping
    from crivello.cli.screen import print_json, say
    from crivello.crawl import import_warcs

    options: dict[str, Any] = {} if scope is None else {"scope": scope}
    with stopping() as stop, _watching(stop) as watch:
        done = import_warcs(directory, warcs, watch=watch, **options)
    if as_json:
        print_json({**asdict(done), "skipped": dict(done.skipped)})
    else:
        print(_summary(done, directory))
    if done.index_problem is not None:
        say(done.index_problem)
    if done.exit_code == 1:
        say("the files hold no WARC record")
    return done.exit_code


@contextmanager
def _watching(stop: Any) -> Iterator[Watch]:  # noqa: ANN401 - a function
    """Damage as warnings, and on a terminal a bar."""
    from crivello.cli.screen import say
    from crivello.crawl import Watch

    told: dict[Path, int] = {}

    def on_problem(path: Path, offset: int, what: str) -> None:
        told[path] = told.get(path, 0) + 1
        if told[path] <= _TOLD:
            say(f"warning: {path}: byte {offset}: {what}")
        elif told[path] == _TOLD + 1:
            say(f"warning: {path}: there is more of this kind")

    if not sys.stderr.isatty():
        yield Watch(stop=stop, on_problem=on_problem)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[pages]}"))
    bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
    with bar:
        task = bar.add_task("", total=None, pages="")

        def on_progress(done: Imported, path: Path, position: int, size: int) -> None:
            bar.update(
                task, description=path.name, completed=position, total=size,
                pages=f"{done.pages:,} pages",
            )  # fmt: skip

        yield Watch(stop=stop, on_progress=on_progress, on_problem=on_problem)


def _summary(done: Imported, directory: Path) -> str:
    from crivello.cli import view
    from crivello.crawl import read_status

    then = []
    if done.records:
        searchable = read_status(directory)["documents_indexed"] > 0
        then = [view.next_step(directory, searchable=searchable)]
    first = "Imported." if done.ending == "finished" else "Interrupted; the same command goes on."
    return "\n".join(
        (
            first,
            f"  files       {done.files:,}, with {done.records:,} records",
            f"  pages       {done.pages:,}",
            f"  robots.txt  {done.robots:,}",
            f"  passed over {view.counts(done.skipped)}",
            f"  damage      {done.problems or 'none'}",
            *then,
        )
    )
