"""The commands of `crivello`, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from crivello.cli.crawl import crawl
from crivello.cli.export import export
from crivello.cli.get import get
from crivello.cli.import_ import import_
from crivello.cli.index import index
from crivello.cli.search import search
from crivello.cli.serve import serve
from crivello.cli.simweb import simweb
from crivello.cli.sql import sql
from crivello.cli.status import status
from crivello.cli.why import why

app = typer.Typer(
    name="crivello",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        from crivello import __version__

        print(f"crivello {__version__}")
        raise typer.Exit


@app.callback()
def crivello(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error comes from (with any command).")
    ] = False,
) -> None:
    """Crawl a web, keep it, index it, search it and study its links.

    \b
    Begin with:
      crivello crawl https://example.org/ -o example --contact you@example.org
      crivello status example
      crivello search example 'title:welcome OR "about us"'
      crivello serve example
      crivello sql example 'select url, title from pages limit 10'

    \b
    Exit codes: 0 done, or a limit you gave was reached; 1 error; 2 wrong usage;
    3 interrupted, to be resumed.
    """


for _command in (crawl, status, search, serve, index, get, why, sql, export, simweb):
    app.command()(_command)
app.command("import")(import_)
