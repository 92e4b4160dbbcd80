"""Visits and their ledger, as Python sees them."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from crivello._native import Files, Ledger, Visits, last_by_host, replay_ledger

AGENT: dict[str, Any] = {"agent": "crivello-test/1 (+test@example.org)", "token": "crivello-test"}


def ledger_in(path: Path) -> Ledger:
    return Ledger(Files(str(path)), "ledger")


def test_the_ledger_tells_requests_and_what_binds_at_a_restart(tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path)
    ledger.intent("a.test", "10.0.0.1", 10, delay_us=5, ip_delay_us=7)
    ledger.end("a.test", "10.0.0.1", 20, status=429, hold_until=99)
    ledger.intent("b.test", None, 30, delay_us=6, ip_delay_us=0)

    requests = pa.record_batch(replay_ledger(tmp_path / "ledger")).to_pylist()
    assert [(r["host"], r["intent_at"], r["ended_at"], r["status"]) for r in requests] == [
        ("a.test", 10, 20, 429),
        ("b.test", 30, None, 0),
    ]
    assert pa.record_batch(last_by_host(tmp_path / "ledger")).to_pylist() == [
        {"host": None, "ip": "10.0.0.1", "intent_at": 10, "delay_us": 7, "hold_until": 0},
        {"host": "a.test", "ip": None, "intent_at": 10, "delay_us": 5, "hold_until": 99},
        {"host": "b.test", "ip": None, "intent_at": 30, "delay_us": 6, "hold_until": 0},
    ]


def lease(url: str, *, ip: str | None) -> pa.RecordBatch:
    def numbers(value: int, kind: pa.DataType) -> pa.Array:
        return pa.array([value], kind)

    columns = {
        "lease": numbers(1, pa.uint64()),
        "visit": numbers(1, pa.uint64()),
        "host": pa.array([url.split("/")[2]], pa.string()),
        "ip": pa.array([ip], pa.string()),
        "url": pa.array([url], pa.string()),
        "url_hash": numbers(0, pa.uint64()),
        "depth": numbers(0, pa.uint16()),
        "score": pa.array([0.0], pa.float32()),
        "attempt": numbers(0, pa.uint8()),
        "burst_us": numbers(0, pa.uint64()),
        "delay_us": numbers(0, pa.uint64()),
        "ip_delay_us": numbers(0, pa.uint64()),
    }
    return pa.RecordBatch.from_pydict(columns)


def test_a_lease_from_python_reaches_the_server(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        port = server.getsockname()[1]
        visits = Visits(ledger_in(tmp_path), **AGENT, resolve=["*.test=127.0.0.1"], visits=4)
        assert visits.room() == 4
        visits.start(lease(f"http://a.test:{port}/page", ip="127.0.0.1"))
        connection, _ = server.accept()
        with connection:
            head = connection.recv(4096)
            assert head.startswith(b"GET /robots.txt HTTP/1.1\r\n")
            assert visits.room() == 3
            assert visits.stats()["requests"] == 1
            (request,) = pa.record_batch(replay_ledger(tmp_path / "ledger")).to_pylist()
            assert (request["host"], request["ended_at"]) == (f"a.test:{port}", None)
            visits.stop()
    assert visits.room() == 4
    with pytest.raises(RuntimeError, match="stopped"):
        visits.start(lease("http://a.test/", ip=None))


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"resolve": ["*.test"]}, "PATTERN=ADDR"),
        ({"visits": 0}, "at least 1"),
        ({"connect_timeout": -1.0}, "connect_timeout"),
        ({"agent": "two\r\nlines"}, "--agent-name"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_words(
    tmp_path: Path, setting: dict[str, object], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        Visits(ledger_in(tmp_path), **{**AGENT, **setting})


def test_a_batch_that_is_not_of_leases_is_refused(tmp_path: Path) -> None:
    visits = Visits(ledger_in(tmp_path), **AGENT)
    with pytest.raises(ValueError, match="lease"):
        visits.start(pa.RecordBatch.from_pydict({"url": ["http://a.test/"]}))
