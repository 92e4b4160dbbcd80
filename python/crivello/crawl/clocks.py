"""Clocks that outlive a crash: what the politeness ledger says about hosts and addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from crivello._native import last_by_host

if TYPE_CHECKING:
    from pathlib import Path

    from crivello._native import Files

DAY_US = 24 * 3600 * 1_000_000


def after_restart(files: Files, directory: str, now: int) -> pa.RecordBatch:
    """How long each host and address waits after a start.

    Until the latest of: its last intent and its delay, this start and its delay (a request may
    have been on its way when the process ended), and the time that the server asked for. The
    ledger of the last day says so: no delay is longer.
    """
    path: Path = files.path(directory)
    last = pa.record_batch(last_by_host(path, since=now - DAY_US))
    columns = (last[name].to_pylist() for name in ("intent_at", "delay_us", "hold_until"))
    not_before = [
        max(intent + delay, now + delay, hold) for intent, delay, hold in zip(*columns, strict=True)
    ]
    return pa.RecordBatch.from_pydict(
        {
            "host": last["host"],
            "ip": last["ip"],
            "not_before": pa.array(not_before, pa.int64()),
            "delay_us": last["delay_us"],
        }
    )
