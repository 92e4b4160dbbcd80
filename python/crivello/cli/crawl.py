"""`crivello crawl`: begin a crawl, or go on with one."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crivello.errors import UsageError

if TYPE_CHECKING:
    from types import FrameType

    from crivello.crawl import Crawl, Summary

_TOLD = 20  # bad lines of a seed file; of a file that is none there would be thousands


def _one_of(*values: str) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return complete


def crawl(
    seeds: Annotated[
        list[str] | None, typer.Argument(metavar="SEED...", help="URLs to start from.")
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Directory of the crawl (required)."),
    ] = None,
    seed_file: Annotated[
        Path | None,
        typer.Option(
            "--seeds", metavar="FILE", help="More seeds: one URL a line, # begins a comment."
        ),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(
            metavar="page|prefix|host|domain|any",
            autocompletion=_one_of("page", "prefix", "host", "domain", "any"),
            help="How far from the seeds links are followed. [host]",
        ),
    ] = None,
    max_pages: Annotated[
        str | None,
        typer.Option(metavar="N", help="Stop when the crawl holds N pages (status 200)."),
    ] = None,
    max_depth: Annotated[
        str | None, typer.Option(metavar="N", help="Go at most N links away from a seed.")
    ] = None,
    max_time: Annotated[
        str | None, typer.Option(metavar="TIME", help='Stop after this time: "90s", "10m", "2h".')
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(metavar="S", help="Seconds of silence to a host between requests. [1]"),
    ] = None,
    ip_delay: Annotated[
        str | None,
        typer.Option(
            metavar="S",
            help="The same to an IP address. [1; 0 for loopback and --resolve'd names]",
        ),
    ] = None,
    ratio: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Ratio mode: download in bursts, then be silent for the burst's time / P.",
        ),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help='Budget: "512MiB", "4GiB". [1GiB]')
    ] = None,
    visits: Annotated[
        str | None, typer.Option(metavar="N", help="Hosts visited at once. [256]")
    ] = None,
    sieve: Annotated[
        str | None,
        typer.Option(
            metavar="mercator|memory",
            autocompletion=_one_of("mercator", "memory"),
            help="Where known URLs are kept; fixed when the crawl is made. [mercator]",
        ),
    ] = None,
    frontier: Annotated[
        str | None,
        typer.Option(
            metavar="disk|memory",
            autocompletion=_one_of("disk", "memory"),
            help="Where waiting URLs are kept; fixed when the crawl is made. [disk]",
        ),
    ] = None,
    agent_name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The name that webmasters see and robots.txt addresses."),
    ] = None,
    contact: Annotated[
        str | None,
        typer.Option(
            metavar="URL_OR_MAIL",
            help="Where webmasters find you; required for hosts that are not local.",
        ),
    ] = None,
    resolve: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN=ADDR[:PORT]",
            help='Answer names here instead of by DNS, as "*.sim=127.0.0.1:8080"; repeatable.',
        ),
    ] = None,
    allow_private: Annotated[
        bool | None,
        typer.Option(
            "--allow-private/--no-allow-private", help="Also ask private addresses (10/8, …)."
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Settings as a TOML file; options outweigh it."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="none|warc,pages,links,text", help="What is kept. [warc,pages,links,text]"
        ),
    ] = None,
    follow: Annotated[
        str | None,
        typer.Option(
            metavar="KIND,...",
            help="Kinds of links that are followed."
            " [a,area,iframe,frame,meta-refresh,redirect,sitemap,feed]",
        ),
    ] = None,
    index: Annotated[
        bool | None,
        typer.Option("--index/--no-index", help="Keep an index, to search it. [--index]"),
    ] = None,
    checkpoint_every: Annotated[
        str | None,
        typer.Option(metavar="S", help="Seconds from one checkpoint to the next. [2]"),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print how it ended as one JSON object.")
    ] = False,
) -> int:
    """Crawl from SEEDs into a directory, or go on with its crawl.

    Stop it at any time with Ctrl-C (or lose it to a crash): the same command with -o DIR alone
    goes on where it was. Options given again replace those of the crawl, new seeds are added.
    Every setting, with its default, stands in DIR/crivello.toml.

    \b
    Examples:
      crivello crawl https://example.org/ -o example --contact you@example.org
      crivello crawl -o example                       go on
      crivello crawl -o example --max-pages 5000      go on, up to 5,000 pages
      crivello crawl --seeds list.txt -o broad --scope any --memory 4GiB \\
               --agent-name mybot --contact https://example.org/bot
      crivello crawl http://h0.sim/ -o sim --resolve '*.sim=127.0.0.1:8080' --delay 0
    """
    given = {name: value for name, value in locals().items() if value not in (None, [])}
    if output is None:
        raise UsageError("a directory for the crawl is missing: add -o DIR")
    for name in ("seeds", "output", "seed_file", "config", "as_json"):
        given.pop(name, None)
    return run(output, seeds or [], seed_file, config, given, as_json=as_json)


def run(
    output: Path,
    seeds: list[str],
    seed_file: Path | None,
    config: Path | None,
    given: dict[str, Any],
    *,
    as_json: bool,
) -> int:
    """Open or make the crawl, run it in sight of the user, tell how it ended."""
    from crivello.cli import view
    from crivello.cli.screen import print_json, say

    seeds = [*seeds, *(_read_seeds(seed_file) if seed_file else [])]
    crawl = _opened(output, seeds, config, given)
    if not crawl.is_new:
        say(f"going on with the crawl in {output}")
        for line in view.changes(crawl.settings, crawl.changed):
            say(f"{line} (written to {output}/crivello.toml)")
    with stopping() as stop, view.live(crawl.settings) as on_progress:
        summary: Summary = crawl.run(stop=stop, on_progress=on_progress)
    if as_json:
        print_json({"ending": summary.ending, **asdict(summary.status)})
    else:
        print(view.summary(summary, output))
    if summary.index_problem is not None:
        say(summary.index_problem)
    if summary.exit_code == 1:
        say(view.nothing_fetched(summary, output))
    return summary.exit_code


def _opened(output: Path, seeds: list[str], config: Path | None, given: dict[str, Any]) -> Crawl:
    from crivello.config import OPTIONS, SettingError
    from crivello.crawl import Crawl
    from crivello.crawl.lock import refuse_if_held
    from crivello.crawl.status import AGENT

    refuse_if_held(output / AGENT / "lock")
    try:
        return Crawl(output, seeds=seeds, config=config, **given)
    except SettingError as error:
        options = {key: name for name, key in OPTIONS.items() if name in given}
        if error.where or error.key not in options:
            raise
        raise UsageError(f"--{options[error.key].replace('_', '-')}{error.problem}") from None


def _read_seeds(path: Path) -> list[str]:
    from crivello.cli.screen import say
    from crivello.crawl.seeds import read_seed_file

    found = read_seed_file(path)
    for problem in found.problems[:_TOLD]:
        say(f"warning: {problem}")
    if (more := len(found.problems) - _TOLD) > 0:
        say(f"warning: {path}: {more:,} further lines are no URL either")
    if not found.seeds:
        raise UsageError(f"{path}: holds no URL that can be crawled; write one a line")
    return found.seeds


@contextmanager
def stopping() -> Iterator[Any]:
    """A function that turns true at Ctrl-C or SIGTERM; a second Ctrl-C ends at once.

    One that comes when the crawl has stopped changes nothing: the process is about to end.
    """
    asked = False

    def ask(number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked = True

    numbers = (signal.SIGINT, signal.SIGTERM)
    old = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield lambda: asked
    finally:
        for number, handler in old.items():
            signal.signal(number, signal.SIG_IGN if asked else handler)
