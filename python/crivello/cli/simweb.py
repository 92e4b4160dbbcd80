"""`crivello simweb`: serve a simulated web until interrupted."""

from __future__ import annotations

import json
import signal
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Profile(StrEnum):
    """How well behaved the web is."""

    clean = "clean"
    wild = "wild"


def simweb(
    *,
    hosts: Annotated[int, typer.Option(metavar="N", min=1, max=2**32 - 1, help="Hosts.")] = 1000,
    pages: Annotated[
        int, typer.Option(metavar="N", min=1, max=2**40, help="Pages of all hosts together.")
    ] = 100_000,
    seed: Annotated[
        int,
        typer.Option(metavar="N", min=0, max=2**63 - 1, help="The number all is made from."),
    ] = 7,
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="0: any that is free.")
    ] = 0,
    truth: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write one row a URL to this Parquet file."),
    ] = None,
    profile: Annotated[
        Profile, typer.Option(metavar="clean|wild", help="wild: with all that crawlers meet.")
    ] = Profile.clean,
    time_scale: Annotated[
        float, typer.Option(metavar="X", min=0, help="Factor of all waits.")
    ] = 1.0,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append one line a request.")
    ] = None,
    addresses: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=254, help="Spread over 127.0.0.1 to 127.0.0.N."),
    ] = 1,
) -> None:
    """Serve a simulated web, made from a seed number, until Ctrl-C.

    Prints one JSON line (port, seed_url, resolve, …) when it is ready; SIGTERM ends it too.
    Crawl it with --resolve and each of the patterns in `resolve`.

    \b
    Examples:
      crivello simweb --hosts 20 --pages 2000 --port 8321
      crivello crawl http://www.sim/ -o sim --scope any --delay 0 \\
               --resolve '*.sim=127.0.0.1:8321'
      crivello simweb --profile wild --truth truth.parquet --log requests.tsv
    """
    from crivello.simweb import SimWeb

    stop = {signal.SIGINT, signal.SIGTERM}
    # Blocked before the server's thread starts, so that it inherits the mask and the signals
    # wait for sigwait.
    signal.pthread_sigmask(signal.SIG_BLOCK, stop)
    with SimWeb(
        hosts,
        pages,
        seed=seed,
        profile=profile.value,
        port=port,
        addresses=addresses,
        time_scale=time_scale,
        log=log,
    ) as web:
        facts = {
            "port": web.port,
            "seed_url": web.seed_url,
            "pages": web.pages,
            "hosts": web.hosts,
            "seed": web.seed,
            "profile": web.profile,
            "addresses": web.addresses,
            "resolve": web.resolve,
        }
        if truth is not None:
            facts["truth"] = str(truth)
            facts["truth_rows"] = web.write_truth(truth)
        print(json.dumps(facts), flush=True)
        signal.sigwait(stop)
