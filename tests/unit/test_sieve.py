"""Sieves: every URL once, in order of first appearance, whatever happens to the process."""

from __future__ import annotations

import errno
import faulthandler
import json
import os
import random
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pytest

from crivello import Error, UsageError
from crivello._native import Files
from crivello.sieve import MemorySieve, MercatorSieve, Sieve
from crivello.sieve.protocol import as_batch

T = TypeVar("T")
SCHEMA = as_batch([]).schema
KINDS: dict[str, Callable[..., Sieve]] = {
    "mercator": partial(MercatorSieve, memory="1MiB"),
    "memory": MemorySieve,
}


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest) -> Callable[..., Sieve]:
    return KINDS[request.param]


def rows(sieve: Sieve, max_rows: int = 8192, batches: int | None = None) -> list[dict]:
    return [row for b in islice(sieve.take(max_rows), batches) for row in b.to_pylist()]


def urls(sieve: Sieve) -> list[str]:
    return [row["url"] for row in rows(sieve)]


def names(numbers: Iterable[int]) -> list[str]:
    return [f"http://h{number % 10}.sim/{number}" for number in numbers]


def row(number: int, chance: random.Random) -> dict:
    """An offer of URL `number`, with chance properties."""
    page = chance.randrange(3)
    return {
        "url": f"http://h{number % 10}.sim/é/{number}",
        "url_hash": number << 40,
        "depth": chance.randrange(65536),
        "score": chance.randrange(100) / 4,
        "from_hash": page,
        "from_url": f"http://page.sim/{page}" if page else "",
    }


def reopened(make: Callable[..., Sieve], path: Path, state: dict) -> Sieve:
    """The sieve of a checkpoint that has been through JSON."""
    return make(path, state=json.loads(json.dumps(state)))


def test_a_url_comes_out_once_in_order_of_first_appearance(make, tmp_path):
    sieve = make(tmp_path)
    sieve.offer(names([3, 1, 3, 2, 1]))
    sieve.flush()
    assert urls(sieve) == names([3, 1, 2])
    sieve.offer(names([2, 5, 1, 4]))
    sieve.flush()
    assert urls(sieve) == names([5, 4])
    assert urls(sieve) == []
    assert len(sieve) == 5
    assert sieve.pending == 0
    assert sieve.contains(names([5])[0])
    assert not sieve.contains(names([6])[0])


def test_a_row_keeps_its_first_offer(make, tmp_path):
    sieve = make(tmp_path)
    chance = random.Random(1)
    first, second = row(1, chance), row(1, chance)
    assert first != second
    sieve.offer(pa.RecordBatch.from_pylist([first, second], schema=SCHEMA))
    sieve.flush()
    assert rows(sieve) == [first]


def test_a_batch_is_let_out_when_it_is_taken(make, tmp_path):
    sieve = make(tmp_path)
    sieve.offer(names(range(10)))
    sieve.flush()
    assert len(rows(sieve, max_rows=4, batches=1)) == 4
    state = sieve.checkpoint()
    assert urls(sieve) == names(range(4, 10))
    assert urls(reopened(make, tmp_path, state)) == names(range(4, 10))


@pytest.mark.parametrize("seed", range(12))
def test_random_lives_agree_with_a_dictionary(make, tmp_path, seed):
    print("seed", seed)
    chance = random.Random(seed)
    sieve = make(tmp_path)
    model: dict[str, dict] = {}  # first offers, in order
    out = 0
    saved = (sieve.checkpoint(), {}, 0)
    for _ in range(60):
        match chance.randrange(8):
            case 0 | 1 | 2:
                size = chance.choice([0, 1, 10, 300, 6000])
                offers = [row(chance.randrange(40_000), chance) for _ in range(size)]
                sieve.offer(pa.RecordBatch.from_pylist(offers, schema=SCHEMA))
                for offer in offers:
                    model.setdefault(offer["url"], offer)
            case 3:
                sieve.flush()
                assert (len(sieve), sieve.pending) == (len(model), 0)
            case 4 | 5:
                got = rows(sieve, max_rows=chance.randint(1, 5000), batches=chance.randint(1, 3))
                assert got == list(model.values())[out : out + len(got)]
                out += len(got)
            case 6:
                saved = (sieve.checkpoint(), dict(model), out)
                if chance.random() < 0.5:
                    sieve.reclaim()
            case 7:
                state, model, out = saved[0], dict(saved[1]), saved[2]
                sieve = reopened(make, tmp_path, state)
    sieve.flush()
    assert rows(sieve) == list(model.values())[out:]
    assert len(sieve) == len(model)
    known, unknown = next(iter(model)), "http://never.sim/"
    assert sieve.contains(known)
    assert not sieve.contains(unknown)


def test_a_full_sieve_flushes_by_itself_within_its_memory(tmp_path):
    sieve = MercatorSieve(tmp_path, memory="1MiB")
    sieve.offer(names(range(100_000)))
    assert len(sieve) > 50_000
    assert 0 < sieve.pending < 50_000
    assert not sieve.full
    assert sieve.memory_bytes <= 1 << 20
    sieve.flush()
    assert urls(sieve) == names(range(100_000))


def test_sieves_share_a_directory_of_files(tmp_path):
    files = Files(tmp_path)
    mercator = MercatorSieve("agents/0/sieve", files=files)
    memory = MemorySieve("agents/1/sieve", files=files)
    for sieve in (mercator, memory):
        sieve.offer(names(range(3)))
        sieve.flush()
        assert urls(sieve) == names(range(3))
    assert files.list("agents/0/sieve") == [
        "fresh-000000",
        "known-000001",
        "log-000000",
        "log-000001",
    ]
    assert files.list("agents/1/sieve") == ["urls.jsonl"]


def test_old_generations_stay_until_they_are_reclaimed(tmp_path):
    files = Files(tmp_path)
    sieve = MercatorSieve(tmp_path, memory="1MiB")
    state = sieve.checkpoint()
    for round_ in range(3):
        sieve.offer(names([round_]))
        sieve.flush()
        assert urls(sieve) == names([round_])
        sieve.reclaim()
    assert files.list() == ["known-000003", "log-000000", "log-000003"]
    sieve.checkpoint()
    sieve.reclaim()
    assert files.list() == ["known-000003", "log-000003"]
    with pytest.raises(OSError, match="log-000000: shorter than its checkpoint"):
        reopened(KINDS["mercator"], tmp_path, state)


def test_without_a_state_a_sieve_starts_empty(make, tmp_path):
    (tmp_path / "notes").write_text("not the sieve's")
    sieve = make(tmp_path)
    sieve.offer(names([1]))
    sieve.flush()
    sieve.checkpoint()
    sieve.close()
    again = make(tmp_path)
    assert not again.contains(names([1])[0])
    again.offer(names([1]))
    again.flush()
    assert urls(again) == names([1])
    assert (tmp_path / "notes").exists()


def test_signatures_depend_on_the_key(tmp_path):
    sieves = [MercatorSieve(tmp_path / str(n), key=key) for n, key in enumerate([1, 1, 2])]
    for sieve in sieves:
        sieve.offer(names(range(10)))
        sieve.flush()
    contents = [(tmp_path / str(n) / "known-000001").read_bytes() for n in range(3)]
    assert contents[0] == contents[1] != contents[2]
    with pytest.raises(UsageError, match="keeps the key"):
        MercatorSieve(tmp_path / "0", key=9, state=sieves[0].checkpoint())


@pytest.mark.parametrize("name", ["known-000001", "log-000000", "log-000001", "fresh-000000"])
@pytest.mark.parametrize("harm", ["missing", "empty", "short", "flipped", "zeros"])
def test_a_damaged_file_is_one_error_that_names_it(tmp_path, name, harm):
    sieve = MercatorSieve(tmp_path, memory="1MiB")
    sieve.offer(names(range(100)))
    sieve.flush()
    sieve.offer(names(range(50, 150)))
    state = sieve.checkpoint()
    path = tmp_path / name
    content = path.read_bytes()
    path.unlink()
    middle = len(content) // 2
    if harm != "missing":
        flipped = content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]
        harmed = {
            "empty": b"",
            "short": content[:-1],
            "flipped": flipped,
            "zeros": bytes(len(content)),
        }
        path.write_bytes(harmed[harm])
    with pytest.raises(OSError, match=name) as error:
        damaged = MercatorSieve(tmp_path, memory="1MiB", state=state)
        damaged.flush()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "state", [{}, {"log": None}, {"log": {}, "key": "xyz"}, {"log": {}, "key": 7}]
)
def test_a_foreign_state_is_refused(tmp_path, state):
    with pytest.raises(Error, match="not the state of a Mercator sieve"):
        MercatorSieve(tmp_path, state=state)


def test_wrong_memory_and_wrong_batches_are_refused(tmp_path):
    with pytest.raises(ValueError, match="at least 1 MiB"):
        MercatorSieve(tmp_path, memory="64k")
    state = MercatorSieve(tmp_path).checkpoint()
    with pytest.raises(ValueError, match="at least 1 MiB"):
        MercatorSieve(tmp_path, memory=4096, state=state)
    with pytest.raises(ValueError, match="size"):
        MercatorSieve(tmp_path, memory="much")
    with pytest.raises(ValueError, match='column "url_hash" is missing'):
        MercatorSieve(tmp_path).offer(pa.record_batch({"url": ["http://a.sim/"]}))


STEPS = [names(range(start, start + 700, 1 + start % 3)) for start in range(0, 1600, 400)]


def live(kind: str, root: Path, fault: str | None) -> int:
    """A small crawl: what comes out is appended to a file; each step ends in a checkpoint."""
    files = Files(root, fault=fault)
    state = {"sieve": None, "out": (0, 0), "step": 0}
    if files.exists("state.json"):
        state = json.loads(files.read("state.json"))
    out = files.resume("out", *state["out"])
    sieve = KINDS[kind]("sieve", files=files, state=state["sieve"])
    for step in range(state["step"], len(STEPS)):
        sieve.offer(STEPS[step])
        if step % 2 or step == len(STEPS) - 1:
            sieve.flush()
        batches = None if step == len(STEPS) - 1 else 2
        for batch in islice(sieve.take(300), batches):
            out.append("".join(url + "\n" for url in batch["url"].to_pylist()).encode())
        state = {"sieve": sieve.checkpoint(), "out": out.flush(), "step": step + 1}
        files.write_atomic("state.json", json.dumps(state).encode())
        sieve.reclaim()
    return files.operations


def again(work: Callable[[], T]) -> T:
    """Does the work, if need be at the second attempt."""
    try:
        return work()
    except OSError as error:
        assert error.errno == errno.EIO
        return work()


def test_an_operation_that_failed_can_be_repeated(tmp_path):
    expected = list(dict.fromkeys(url for step in STEPS for url in step))
    number, operations = 1, 1
    while operations >= number:
        files = Files(tmp_path / str(number), fault=f"error:{number}")
        sieve = again(lambda files=files: MercatorSieve("sieve", files=files))
        out = []
        for step in STEPS:
            again(lambda sieve=sieve, step=step: sieve.offer(step))
            again(sieve.flush)
            out += urls(sieve)
            state = again(sieve.checkpoint)
            again(sieve.reclaim)
        assert out == expected, f"after error:{number}"
        MercatorSieve("sieve", files=files, state=state)
        operations = files.operations
        number += 1
    assert number > 30


def dies(work: Callable[[], object]) -> bool:
    """Whether a copy of this process that does the work dies of a signal."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()  # its death is wanted: no report
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize("fault", ["kill", "torn"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_death_at_any_operation_loses_and_repeats_nothing(tmp_path, kind, fault):
    expected = list(dict.fromkeys(url for step in STEPS for url in step))
    operations = live(kind, tmp_path / "good", None)
    assert (tmp_path / "good" / "out").read_text().split() == expected
    for number in range(1, operations + 1):
        root = tmp_path / str(number)
        assert dies(partial(live, kind, root, f"{fault}:{number}"))
        live(kind, root, None)
        assert (root / "out").read_text().split() == expected, f"after {fault}:{number}"
