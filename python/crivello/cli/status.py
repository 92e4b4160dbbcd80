"""`crivello status`: how a crawl is doing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def status(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the crawl.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print everything as one JSON object.")
    ] = False,
) -> None:
    """Show how a crawl is doing, while it runs or afterwards.

    The state is running, indexing (the crawl is over, its last pages are being indexed), stopped
    (a limit was reached, or you stopped it), finished (nothing is left) or interrupted (it did
    not end well; crawling into DIR again goes on).

    \b
    Examples:
      crivello status example
      crivello status example --json | jq .pages_per_s
      watch -n 2 crivello status example
    """
    from crivello.cli import view
    from crivello.cli.screen import moment, print_json
    from crivello.crawl import read_status
    from crivello.units import human_size, human_time

    facts = read_status(directory)
    if as_json:
        print_json(facts)
        return
    lines = {
        "state": facts["state"],
        "pages": f"{facts['pages_stored']:,} ({facts['pages_per_s']:,.1f}/s)",
        "URLs": f"{facts['urls_known']:,} known, {facts['urls_queued']:,} queued",
        "index": f"{facts['documents_indexed']:,} pages",
        "hosts": f"{facts['hosts']:,}",
        "failures": view.counts(facts["failures"]),
        "duplicates": view.counts(facts["duplicates"]),
        "downloaded": human_size(facts["bytes"]),
        "memory": f"{human_size(facts['memory_bytes'])} at most",
        "checkpoint": f"{moment(facts['checkpoint_at'])} ({view.age(facts['checkpoint_at'])})",
        "this run": human_time(facts["elapsed_s"]),
    }
    for name, value in lines.items():
        print(f"{name:<12}{value}")
