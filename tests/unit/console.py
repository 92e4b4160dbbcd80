"""Runs what a page of the documentation shows, and compares what it prints.

A page is a session in an empty directory. Its blocks run from top to bottom:

- ```` ```console ````: lines after `$ ` are typed into one bash, each with exit code 0, and what
  follows them is what is printed, by both outputs. A command that ends with `&` goes on beside.
- ```` ```python ````: a program of its own; a block without language that follows at once is what
  it prints. Without one it prints nothing. If its first line is `# name.py`, it is kept as such.

White space counts as one space. A number with a decimal point or after `~`, a date and a time of
day stand for any other; `…` stands for any text; all else is printed as it stands. Ports
(`--port 8400`) are exchanged for free ones. A crawl's lines of progress are left out: a terminal
does not keep them.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

PATIENCE = 60.0

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PORT = re.compile(r"--port (\d+)")
_VARIES = re.compile(
    r"(?P<any>…)|(?P<about>~[\d,.]+)|(?P<date>\d{4}-\d\d-\d\d)|(?P<time>\d\d:\d\d:\d\d(?:\.\d+)?)|(?P<number>\d+\.\d+)"
)
_STANDS_FOR = {
    "any": r".*?",
    "about": r"[\d,]+(?:\.\d+)?",
    "date": r"\d{4}-\d\d-\d\d",
    "time": r"\d\d:\d\d:\d\d(?:\.\d+)?",
    "number": r"[\d,]+(?:\.\d+|m\d\d)?",
}
_PROGRESS = re.compile(
    r"crivello: ([\d,]+ pages, [\d,.]+/s, [\d,]+ queued, .*|.* pages are being indexed .*)\n"
)
_OF_BASH = re.compile(r"bash: line \d+: +\d+ Killed .*\n")


class Step(NamedTuple):
    """A command or a program of a page, and what the page says that it prints."""

    line: int
    command: str
    program: bool
    printed: str


def steps(text: str) -> Iterator[Step]:
    """What a page runs, in order."""
    blocks = list(_BLOCK.finditer(text))
    for number, block in enumerate(blocks):
        line = text.count("\n", 0, block.start()) + 2
        if block[1] == "python":
            after = blocks[number + 1] if number + 1 < len(blocks) else None
            follows = after and not after[1] and not text[block.end() : after.start()].strip()
            yield Step(line, block[2], True, after[2] if after and follows else "")
        elif block[1] == "console":
            yield from _typed(block[2], line)


def _typed(block: str, line: int) -> Iterator[Step]:
    command, printed, begun, more = "", "", line, False
    for number, text in enumerate(block.splitlines(), line):
        if text.startswith("$ "):
            if command:
                yield Step(begun, command, False, printed)
            command, printed, begun = text[2:], "", number
        elif more:
            command += f"\n{text}"
        else:
            printed += f"{text}\n"
        more = command.endswith("\\") and not printed
    if command:
        yield Step(begun, command, False, printed)


def pattern(printed: str) -> re.Pattern[str]:
    """What a page prints as a pattern of all that may be printed for it."""
    text, parts, end = _squeezed(printed), [], 0
    for match in _VARIES.finditer(text):
        parts += [re.escape(text[end : match.start()]), _STANDS_FOR[str(match.lastgroup)]]
        end = match.end()
    return re.compile("".join([*parts, re.escape(text[end:])]), re.DOTALL)


def _squeezed(text: str) -> str:
    return " ".join(re.sub(r"─{3,}", "───", text).split())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _exchanged(text: str, ports: dict[str, str]) -> str:
    for old, new in ports.items():
        text = re.sub(rf"\b{old}\b", new, text)
    return text


class Session:
    """A bash in an empty directory, and the programs beside it; all of it ends with the block."""

    def __init__(self, directory: Path, page: str) -> None:
        ports = sorted(set(_PORT.findall(page)))
        self._ports = {port: str(_free_port()) for port in ports}
        self._pages = {free: port for port, free in self._ports.items()}
        self._directory = directory
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._environment = {"PATH": path, "HOME": str(directory), "LC_ALL": "C.UTF-8"}
        self._bash = subprocess.Popen(
            ["bash", "--norc"], cwd=directory, env=self._environment, text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        self._lines: SimpleQueue[str] = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        # The group is this bash's own: it and what the page left running.
        os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.wait()

    def _read(self) -> None:
        assert self._bash.stdout is not None
        for line in self._bash.stdout:
            self._lines.put(line)

    def _say(self, text: str) -> None:
        assert self._bash.stdin is not None
        self._bash.stdin.write(f"{text}\n")
        self._bash.stdin.flush()

    def check(self, step: Step) -> str | None:
        """Run a step; what is wrong with what it printed, if anything."""
        there = _exchanged(step.command, self._ports)
        code, said = self._program(there) if step.program else self._type(there, step.printed)
        if code != 0 or not pattern(step.printed).fullmatch(_squeezed(said)):
            return f"line {step.line}: {step.command}\nended with {code} and printed:\n{said}"
        return None

    def _program(self, text: str) -> tuple[int, str]:
        if name := re.match(r"# (\w+\.py)\n", text):
            (self._directory / name[1]).write_text(text, "utf-8")
        done = subprocess.run(
            [sys.executable, "-c", text], cwd=self._directory, env=self._environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False,
        )  # fmt: skip
        return done.returncode, _exchanged(done.stdout, self._pages)

    def _type(self, command: str, printed: str) -> tuple[int, str]:
        mark = f"--- ended {os.urandom(4).hex()} "
        self._say(f"{command}\nprintf '%s%s\\n' '{mark}' $?")
        code, said = None, ""
        wanted = pattern(printed)
        beside = command.rstrip().endswith("&")
        while code is None or (beside and not wanted.fullmatch(_squeezed(said))):
            try:
                line = self._lines.get(timeout=PATIENCE)
            except Empty:
                return -1, said
            before, marked, after = line.partition(mark)
            code, line = (int(after), before) if marked else (code, _exchanged(line, self._pages))
            if not _PROGRESS.fullmatch(line) and not _OF_BASH.fullmatch(line):
                said += line
        return code, said


def check_page(page: Path, directory: Path) -> list[str]:
    """Run what a page shows; what is wrong, from the first step that is."""
    text = page.read_text("utf-8")
    with Session(directory, text) as session:
        for step in steps(text):
            if problem := session.check(step):
                return [f"{page.name}, {problem}"]
    return []
