"""What stands before the pages: whom they answer, and what they tell browsers to refuse.

A page of a foreign site can make a browser ask any address, also loopback. It cannot read the
answer, unless its own name suddenly resolves to this machine (DNS rebinding): so a request must
name an address, this machine, or a name that was allowed. What a crawled page put into an answer
can neither run nor load anything, by the Content-Security-Policy.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import sys
import traceback
from collections.abc import Iterable
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self';"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Robots-Tag": "noindex, nofollow",
    "Cache-Control": "no-cache",
}
ANY = "*"
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]/@\s]+)(?::\d{1,5})?", re.IGNORECASE)


class Guard:
    """Answers only under names that are ours, and never with a traceback."""

    def __init__(self, app: ASGIApp, *, names: Iterable[str] = ()) -> None:
        self._app = app
        own = {"localhost", socket.gethostname()}
        self._names = {_plain(name) for name in {*own, *names}}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SECURITY)
            await send(message)

        if not self._is_ours(Headers(scope=scope).get("host", "")):
            refusal = "crivello: this name is not served here; --name NAME allows it\n"
            await PlainTextResponse(refusal, 421)(scope, receive, guarded)
            return
        try:
            await self._app(scope, receive, guarded)
        except Exception as error:  # it has been answered by then
            place = traceback.extract_tb(error.__traceback__)[-1]
            problem = " ".join(f"{type(error).__name__}: {error}".split())
            told = f"{scope['path']!a}: {problem} ({place.filename}:{place.lineno})"
            print(f"crivello: {told}", file=sys.stderr, flush=True)

    def _is_ours(self, header: str) -> bool:
        match = _HOST.fullmatch(header)
        if match is None:
            return False
        return ANY in self._names or _plain(match[1]) in self._names or is_address(match[1])


def _plain(name: str) -> str:
    return name.strip().rstrip(".").lower()


def is_address(name: str) -> bool:
    """Whether it is an IP address, which no foreign name server can make its own."""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
