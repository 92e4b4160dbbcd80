"""`crivello serve`: search a crawl and look at it in a browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def serve(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the crawl.")],
    *,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Listen on this address.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="0: any that is free.")
    ] = 8321,
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help='Answer under this host name too, as behind a proxy; repeatable, "*": any.',
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print where it serves as one JSON object.")
    ] = False,
) -> None:
    """Serve a search page, what is stored of pages, a live status page and a JSON API.

    It runs until Ctrl-C, beside a crawl or afterwards, and only reads. Without --host only this
    machine reaches it; there are no passwords.

    \b
    Examples:
      crivello serve example                          then open http://127.0.0.1:8321/
      crivello serve example --port 0                 any free port
      crivello serve example --host 0.0.0.0 --name search.example.org
      curl 'http://127.0.0.1:8321/api/search?q=sieve&k=3'
    """
    from crivello.cli.screen import print_json, say
    from crivello.store.reader import crawl_directory
    from crivello.web import server

    root = crawl_directory(directory)
    with server.listen(host, port) as listener:
        from crivello.web.app import make_app
        from crivello.web.guard import Guard

        app = Guard(make_app(root), names=[host, *(name or [])])
        url = server.address_of(listener, host)
        if not server.is_loopback(listener):
            say(f"{host} is not loopback: whoever reaches this machine can read the crawl")
        if as_json:
            print_json({"url": url, "host": host, "port": listener.getsockname()[1]})
        else:
            print(f"Open {url} in a browser; Ctrl-C ends.")
        sys.stdout.flush()
        server.serve(app, listener)
