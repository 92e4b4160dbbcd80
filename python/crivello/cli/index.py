"""`crivello index`: make the index of a crawl, or bring it up to date."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from crivello.errors import UsageError


def index(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the crawl.")],
    *,
    merge: Annotated[
        bool, typer.Option("--merge", help="Make one segment of all: smaller, and faster to ask.")
    ] = False,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Make the index anew; the old one is used until then."),
    ] = False,
    memory: Annotated[
        str, typer.Option(metavar="SIZE", help="Memory for a segment under construction.")
    ] = "256MiB",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was done as one JSON object.")
    ] = False,
) -> None:
    """Make the index of a crawl, or add what is not in it yet.

    A crawl keeps its index itself (but with --no-index, or when it was killed). The index is
    made from the sealed rows of the table pages: of a crawl that runs, the latest are not sealed.
    It may be deleted and made again at any time.

    \b
    Examples:
      crivello index example
      crivello index example --merge
      crivello index example --rebuild
    """
    from crivello.cli.screen import print_json, say
    from crivello.config import FILE, Settings
    from crivello.index import Indexer
    from crivello.store.reader import crawl_directory
    from crivello.units import human_size, human_time, parse_size

    try:
        size = int(str(parse_size(memory)))
    except ValueError:
        raise UsageError(f"--memory {memory!r}: allowed is a size as 512MiB") from None
    settings = Settings.load(crawl_directory(directory) / FILE)
    told = -1

    def on_progress(done: int, total: int) -> None:
        nonlocal told
        if sys.stderr.isatty() and total and done * 100 // total > told:
            told = done * 100 // total
            print(f"\rcrivello: indexing {told} %", end="", file=sys.stderr, flush=True)

    started = time.monotonic()
    indexer = Indexer(directory, memory=size, fsync=settings.store.fsync)
    done = indexer.update(rebuild=rebuild, merge=merge, on_progress=on_progress)
    took = time.monotonic() - started
    if told >= 0:
        print("\r\033[K", end="", file=sys.stderr)
    found = done.index
    if as_json:
        print_json(
            {
                "documents": found.documents,
                "added": done.added,
                "segments": len(found.segments),
                "bytes": found.bytes,
                "took_s": round(took, 3),
            }
        )
        return
    segments = "1 segment" if len(found.segments) == 1 else f"{len(found.segments)} segments"
    print(
        f"{found.documents:,} pages in {segments}, {human_size(found.bytes)}"
        f" ({done.added:,} added in {human_time(took)})"
    )
    if not found.documents:
        say(
            "no page is in the index: it takes pages whose text is kept (store.keep), once they"
            " are sealed, at the end of a run or after store.seal_seconds"
        )
