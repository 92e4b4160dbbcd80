"""The command as a user runs it, and the tables that it leaves."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import crivello as crivello_package

if TYPE_CHECKING:
    import pyarrow as pa

COMMAND = Path(sys.executable).with_name("crivello")
PATIENCE = 60.0

QUICK = """
[fetch]
retry_delay = 0.05
first_byte_timeout = 3
idle_timeout = 3
total_timeout = 10
max_body = "1MiB"
"""


class Command:
    """Runs `crivello` in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(
        self, *arguments: str | Path, timeout: float = 200.0
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *map(str, arguments)],
            cwd=self.directory,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """Begin it and let it run."""
        return subprocess.Popen(
            [COMMAND, *map(str, arguments)],
            cwd=self.directory,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def refuses(self, *arguments: str | Path, code: int = 2) -> str:
        """Run what must not work: the one line that it says."""
        done = self(*arguments, timeout=60)
        assert done.returncode == code, done
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
        lines = done.stderr.splitlines()
        assert len(lines) == 1, done.stderr
        assert lines[0].startswith("crivello: ")
        return lines[0]

    @staticmethod
    def _environment() -> dict[str, str]:
        """Without settings of the person who runs the tests."""
        return {name: value for name, value in os.environ.items() if "CRIVELLO" not in name}


def resolving(web: Any) -> list[str]:
    """The options that lead to a simulated web."""
    return [part for rule in web.resolve for part in ("--resolve", rule)]


def asked(directory: Path, query: str) -> pa.Table:
    """The answer of a crawl's tables."""
    return crivello_package.open(directory).sql(query).to_arrow()


def column(directory: Path, query: str) -> list[Any]:
    """The first column of the answer."""
    return asked(directory, query).column(0).to_pylist()


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait until the condition holds, and give what it gave."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError(f"in {PATIENCE:.0f} s not: {what}")
