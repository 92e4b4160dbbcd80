"""`crivello search`: ask the index of a crawl."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from crivello._native import Leaf
    from crivello.search import Results


def search(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the crawl.")],
    query: Annotated[list[str], typer.Argument(metavar="QUERY...", help="What to look for.")],
    *,
    k: Annotated[int, typer.Option("-k", metavar="N", min=1, help="Pages to show.")] = 10,
    offset: Annotated[int, typer.Option(metavar="N", min=0, help="Leave out the N best ones.")] = 0,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Say how the query was read, and what each part matches."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Search a crawl, while it runs or afterwards. The best pages come first (BM25).

    All words must be there. "static function" in quotes is a phrase, OR an alternative, -word or
    NOT excludes, title:word looks in titles only, parentheses group. Put the query into single
    quotes, so that the shell leaves it alone.

    \b
    Examples:
      crivello search example sieve
      crivello search example '"static function" OR sieve -java'
      crivello search example 'title:(tutorial OR introduction) python' -k 3
      crivello search example sieve --json | jq -r '.hits[].url'
    """
    from crivello.cli.screen import print_json, say
    from crivello.search import Searcher, parse

    read = parse(" ".join(query))
    searcher = Searcher.open(directory)
    results = searcher.search(read, k, offset=offset)
    parts = searcher.explain(read) if explain else []
    if as_json:
        facts = results.as_json()
        if explain:
            facts["read_as"] = str(read)
            facts["parts"] = [{"part": _named(leaf), "pages": count} for leaf, count in parts]
        print_json(facts)
        return
    if explain:
        print(f"read as  {read}")
        for leaf, count in parts:
            print(f"  {count:>9,} pages match  {_named(leaf)}")
        print()
    _print(results, offset)
    if not results.total and not explain:
        say("no page matches all of it; --explain says how many match each part")


def _named(leaf: Leaf) -> str:
    from crivello.search.language import written

    return written(leaf)


def _print(results: Results, offset: int) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    from crivello.cli.screen import harmless

    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else 10_000, highlight=False, soft_wrap=not terminal)
    pages = "1 page" if results.total == 1 else f"{results.total:,} pages"
    console.print(Text(f"{pages} in {results.took_ms:.1f} ms", style="dim"))
    for place, hit in enumerate(results, offset + 1):
        heading = Text(f"\n{place:>3}  ")
        heading.append(harmless(hit.title or hit.url), style="bold")
        snippet = Text()
        for piece, marked in hit.pieces():
            snippet.append(harmless(piece), style="bold yellow" if marked else "")
        console.print(heading)
        console.print(Padding(Text(hit.url, style="green"), (0, 0, 0, 5), expand=False))
        console.print(Padding(snippet, (0, 0, 0, 5), expand=False))
