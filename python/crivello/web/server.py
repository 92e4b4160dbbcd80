"""Listening on an address, and serving there until a signal ends it."""

from __future__ import annotations

import errno
import ipaddress
import signal
import socket
from typing import TYPE_CHECKING

import uvicorn

from crivello.errors import Error, UsageError

if TYPE_CHECKING:
    from types import FrameType

    from starlette.types import ASGIApp

MAX_REQUESTS = 128
"""At once; more are answered with 503."""
MAX_HEAD = 16 << 10
"""Bytes of a request's head."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; what is in the way is one line."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError):
        raise UsageError(f"--host {host}: is neither an address nor a known name") from None
    listener = socket.socket(family, kind)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(MAX_REQUESTS)
    except OSError as error:
        listener.close()
        raise _explained(error, host, port) from None
    return listener


def _explained(error: OSError, host: str, port: int) -> Error:
    if error.errno == errno.EADDRINUSE:
        return Error(
            f"port {port} is in use by another program;"
            " choose another with --port N (0: any that is free)"
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return UsageError(f"--host {host}: is not an address of this machine")
    if error.errno == errno.EACCES:
        return Error(f"port {port} may not be used without rights; choose one from 1024 up")
    return Error(f"{host}, port {port}: {error.strerror}")


def address_of(listener: socket.socket, host: str) -> str:
    """What to type into a browser."""
    port = listener.getsockname()[1]
    if host in ("0.0.0.0", "::"):
        host = socket.gethostname()
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def is_loopback(listener: socket.socket) -> bool:
    """Whether only programs of this machine reach it."""
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM; requests that are under way get two seconds."""
    config = uvicorn.Config(
        app,
        lifespan="off",
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_REQUESTS,
        h11_max_incomplete_event_size=MAX_HEAD,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)

    def end(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    # The server puts its own handlers in their place, and raises the signals again at its end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    server.run(sockets=[listener])
