"""A small crawl of hostile and harmless pages, and `crivello serve` before it."""

from __future__ import annotations

import json
import signal
import subprocess
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode, urlsplit

from commands import QUICK, Command
from small_web import Answer, SmallWeb, moved, page

CHAPTERS = 25
SCRIPT = "<script>document.title = 'owned'</script>"
HOSTILE_TITLE = "A &lt;script&gt;document.title = 'owned'&lt;/script&gt; &quot;title&quot;"
HOSTILE_TEXT = "&lt;img src=x onerror=\"document.title='owned'\"&gt; hostility &lt;/p&gt;"


def site(chapters: int = CHAPTERS) -> dict[str, Answer]:
    """Pages by path: chapters to page through, a hostile page, a copy, a redirect, a dead end."""
    paths = [f"/chapter/{number}" for number in range(1, chapters + 1)]
    answers = {
        path: page(
            f"Chapter {number}",
            extra=f"<p>The sieve of chapter number{number} lets every address out once.",
        )
        for number, path in enumerate(paths, 1)
    }
    hostile = f"<!DOCTYPE html><html lang='en\" onclick=\"x'><title>{HOSTILE_TITLE}</title>"
    answers["/hostile"] = Answer(f"{hostile}<p>{HOSTILE_TEXT}".encode())
    twin = "<!DOCTYPE html><title>Twins</title><p>Twice the same words, to the letter."
    answers["/twin/a"] = answers["/twin/b"] = Answer(twin.encode())
    answers["/old"] = moved("/chapter/1")
    others = ["/hostile", "/twin/a", "/twin/b", "/old", "/lost"]
    answers["/"] = page("Contents", *paths, *others)
    return answers


def crawl(command: Command, web: SmallWeb, *more: str | Path) -> Path:
    """Crawl it to the end; the directory of the crawl."""
    (command.directory / "quick.toml").write_text(QUICK, "utf-8")
    options = ["-o", "crawl", "--config", "quick.toml", "--delay", "0", *more]
    done = command("crawl", f"{web.root}/", *options)
    assert done.returncode == 0, done.stderr
    return command.directory / "crawl"


class Reply(NamedTuple):
    """An answer of the server."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        """Its body, read as JSON."""
        return json.loads(self.text)


class Served:
    """`crivello serve` on a free port, until closed."""

    def __init__(self, command: Command, directory: str | Path, *options: str) -> None:
        self.process = command.start("serve", directory, "--port", "0", "--json", *options)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()
        self.url: str = json.loads(line)["url"].rstrip("/")
        self.port: int = json.loads(line)["port"]

    def get(self, path: str, *, host: str | None = None, **parameters: object) -> Reply:
        """Ask for a path, under a host name if one is given."""
        connection = HTTPConnection(urlsplit(self.url).hostname or "", self.port, timeout=60)
        target = f"{path}?{urlencode(parameters)}" if parameters else path
        headers = {"Host": host} if host is not None else {}
        try:
            connection.request("GET", target, headers=headers)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read().decode())
        finally:
            connection.close()

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Send a signal; the exit code, and what was said beside the output."""
        self.process.send_signal(number)
        try:
            _, told = self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, told

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.end()
