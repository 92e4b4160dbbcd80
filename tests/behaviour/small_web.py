"""A small web served by the standard library: nothing in it is shared with the simulated one."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Self

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Answer:
    """What a path is answered with."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": HTML})


@dataclass(frozen=True)
class Asked:
    """A request, when its head had been read."""

    at: float
    host: str
    path: str


def page(title: str, *hrefs: str, extra: str = "") -> Answer:
    """An HTML page that links to `hrefs`."""
    links = "".join(f'<p><a href="{href}">to {number}</a>' for number, href in enumerate(hrefs))
    head = f"<!DOCTYPE html><title>{title}</title>"
    return Answer(f"{head}{extra}<p>All about {title}.{links}".encode())


def moved(location: str, status: int = 302) -> Answer:
    """A redirect."""
    return Answer(status=status, headers={"Location": location})


class SmallWeb:
    """Serves `answers` by path on a loopback port until closed, and keeps what was asked."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        self.answers = answers
        self._asked: list[Asked] = []
        self._lock = Lock()
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                with web._lock:
                    host = self.headers.get("Host", "")
                    web._asked.append(Asked(time.monotonic(), host, self.path))
                lost = Answer(b"nothing here", 404, {"Content-Type": "text/plain"})
                answer = web.answers.get(self.path, lost)
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *_: object) -> None:
                """Say nothing: the tests read `asked`."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def root(self) -> str:
        """The origin, without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def asked(self) -> list[Asked]:
        """The requests so far, in order."""
        with self._lock:
            return list(self._asked)

    @property
    def paths(self) -> list[str]:
        """Their paths."""
        return [asked.path for asked in self.asked]

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
