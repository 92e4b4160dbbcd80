"""The door to durable bytes and the memory budget, as Python sees them."""

from __future__ import annotations

import errno
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from crivello._native import Budget, Files, parse_size

WRITER = """
import sys
from crivello._native import Files

files = Files(sys.argv[1], fault=sys.argv[2] or None)
log = files.appender("log")
for number in range(1, 6):
    log.append(b"%07d\\n" % number)
    length, crc = log.flush()
    files.write_atomic("state", b"%d %d" % (length, crc))
print(files.operations)
"""


def write(root: Path, fault: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WRITER, str(root), fault]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_appender_tells_offset_length_and_checksum(tmp_path: Path):
    files = Files(str(tmp_path / "new" / "root"), fsync=True)
    log = files.appender("logs/a.log")
    assert log.append(b"one") == 0
    assert log.append(b"two") == 3
    assert len(log) == 6
    assert log.flush() == (6, zlib.crc32(b"onetwo"))
    assert files.read("logs/a.log") == b"onetwo"
    assert files.list("logs") == ["a.log"]
    assert files.path("logs/a.log") == tmp_path / "new" / "root" / "logs" / "a.log"
    assert files.len("logs/a.log") == 6


def test_a_checkpoint_is_restored_or_refused(tmp_path: Path):
    files = Files(tmp_path)
    log = files.appender("log")
    log.append(b"promised")
    length, crc = log.flush()
    log.append(b"later")
    log.flush()
    files.restore("log", length, crc)
    assert files.read("log") == b"promised"
    with pytest.raises(OSError, match=r"log: shorter than its checkpoint: 8 < 9 bytes"):
        files.restore("log", 9, crc)
    with pytest.raises(OSError, match=r"log: damaged"):
        files.restore("log", length, crc + 1)
    again = files.resume("log", length, crc)
    again.append(b"!")
    assert again.flush() == (9, zlib.crc32(b"promised!"))


def test_errors_are_those_of_the_system_and_name_the_file(tmp_path: Path):
    files = Files(tmp_path, fault="full:2")
    with pytest.raises(FileNotFoundError) as missing:
        files.read("nothing")
    assert missing.value.filename == str(tmp_path / "nothing")
    with pytest.raises(OSError, match="No space left on device") as full:
        files.write_atomic("state", b"content")
    assert full.value.errno == errno.ENOSPC
    with pytest.raises(OSError, match="leaves"):
        files.read("../elsewhere")
    with pytest.raises(ValueError, match=r'fault plan "melt:1" is not'):
        Files(tmp_path, fault="melt:1")


@pytest.mark.parametrize("kind", ["kill", "torn"])
def test_a_death_at_any_operation_leaves_a_state_that_can_be_restored(tmp_path: Path, kind: str):
    good = write(tmp_path / "good")
    assert good.returncode == 0, good.stderr
    operations = int(good.stdout)
    assert operations == 1 + 5 + 5 * 3  # creation, flushes, atomic writes
    for number in range(1, operations + 1):
        root = tmp_path / str(number)
        assert write(root, f"{kind}:{number}").returncode < 0, "died of a signal"
        files = Files(root)
        lines = b""
        if files.exists("state"):
            length, crc = map(int, files.read("state").split())
            files.restore("log", length, crc)
            lines = files.read("log")
        assert lines == b"".join(b"%07d\n" % n for n in range(1, len(lines) // 8 + 1))
        assert len(lines) // 8 >= (number - 2) // 4, "what was checkpointed is there"


def test_a_budget_adds_up_its_accounts():
    budget = Budget(parse_size("1MiB"))
    sieve = budget.account("sieve", 1000)
    frontier = budget.account("frontier", 2000)
    sieve.add(1500)
    sieve.sub(100)
    frontier.set(7)
    assert budget.report() == {"sieve": 1400, "frontier": 7}
    assert (budget.total, budget.used, budget.over) == (1 << 20, 1407, False)
    assert sieve.over
    assert not frontier.over


@pytest.mark.parametrize(
    ("text", "size"),
    [("1GiB", 1 << 30), ("256MiB", 256 << 20), ("64k", 64 << 10), ("2MB", 2 * 10**6)],
)
def test_sizes_have_units(text: str, size: int):
    assert parse_size(text) == size


def test_a_wrong_size_is_refused_with_an_example():
    with pytest.raises(
        ValueError, match=r'size "much" is not a number with a unit, such as 256MiB'
    ):
        parse_size("much")
