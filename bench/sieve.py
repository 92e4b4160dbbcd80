"""How fast does a sieve take offers, and what does a URL cost it?

    python -m bench.sieve [N ...] [--memory 256MiB] [--repeat 3]

N distinct URLs of about 60 bytes are offered twice each: a batch of 16,384 rows is half new URLs
and half old ones drawn uniformly, which is the worst case for the cache of recent ones. Timed are
offers, flushes and the taking of everything that comes out, not the making of the batches. Peers
are a Python set of strings and a Bloom filter (rbloom, one in a thousand wrong). Every run is a
process of its own, and must let out exactly N URLs; the filter loses some.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from rbloom import Bloom

from bench._figures import Figures, spread
from crivello._native import parse_size
from crivello.sieve import MercatorSieve
from crivello.sieve.protocol import as_batch

HALF = 8192
SEED = 7
LOST = 0.001


def batches(n: int) -> Iterator[pa.RecordBatch]:
    """Offers of the URLs 0 to n, each new one beside an old one."""
    template = as_batch(["http://example.sim/"] * 2 * HALF)
    for start in range(0, n, HALF):
        count = min(HALF, n - start)
        chance = pc.random(count, initializer=SEED + start)
        old = pc.floor(pc.multiply(chance, float(start + 1))).cast(pa.int64())
        new = pc.add(pc.cast(pa.array(range(count)), pa.int64()), start)
        numbers = pa.chunked_array([new, old]).combine_chunks()
        hosts = pc.bit_wise_and(numbers, 1023).cast(pa.string())
        urls = pc.binary_join_element_wise(
            "http://www.host", hosts, ".example.sim/archive/2026/", numbers.cast(pa.string()), ""
        )
        columns = {name: template[name].slice(0, len(urls)) for name in template.schema.names}
        yield pa.record_batch(columns | {"url": urls}, schema=template.schema)


def peak() -> int:
    """Peak resident memory of this process, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def mercator(n: int, memory: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as directory:
        sieve = MercatorSieve(directory, memory=memory)
        out, spent, cpu = 0, 0.0, 0.0
        for batch in batches(n):
            start, start_cpu = time.perf_counter(), time.process_time()
            sieve.offer(batch)
            out += sum(fresh.num_rows for fresh in sieve.take())
            spent += time.perf_counter() - start
            cpu += time.process_time() - start_cpu
            sieve.reclaim()
        start, start_cpu = time.perf_counter(), time.process_time()
        sieve.flush()
        out += sum(fresh.num_rows for fresh in sieve.take())
        spent += time.perf_counter() - start
        cpu += time.process_time() - start_cpu
        sieve.checkpoint()
        sieve.reclaim()
        disk = sum(file.stat().st_size for file in Path(directory).iterdir())
    return {"out": out, "seconds": spent, "cpu": cpu, "disk": disk}


def one_by_one(n: int, seen: set[str] | Bloom) -> dict[str, float]:
    """Whatever has `in` and `add`, a URL at a time."""
    out, spent, cpu = 0, 0.0, 0.0
    for batch in batches(n):
        urls = batch["url"].to_pylist()
        start, start_cpu = time.perf_counter(), time.process_time()
        for url in urls:
            if url not in seen:
                seen.add(url)
                out += 1
        spent += time.perf_counter() - start
        cpu += time.process_time() - start_cpu
    return {"out": out, "seconds": spent, "cpu": cpu, "disk": 0}


def python_set(n: int, memory: int) -> dict[str, float]:
    del memory  # a set takes what it takes
    return one_by_one(n, set())


def bloom(n: int, memory: int) -> dict[str, float]:
    del memory  # sized for what will come
    return one_by_one(n, Bloom(n, LOST))


SIEVES = {"mercator": mercator, "set": python_set, "rbloom": bloom}


def one(name: str, n: int, memory: int) -> None:
    """Measures one run, in this process, and prints its figures."""
    for _ in batches(HALF):  # what making batches costs is not the sieve's
        base = peak()
    figures = SIEVES[name](n, memory)
    if figures["out"] > n or figures["out"] < (n * (1 - 2 * LOST) if name == "rbloom" else n):
        raise SystemExit(f"{name} let out {figures['out']} URLs, not {n}")
    print(json.dumps(figures | {"memory": peak() - base}))


def measure(name: str, n: int, memory: int, repeat: int) -> dict[str, object]:
    command = [sys.executable, "-m", "bench.sieve", "--one", name, str(n), "--memory", str(memory)]
    outputs = [subprocess.check_output(command) for _ in range(repeat)]
    runs = [json.loads(output) for output in outputs]
    rates = [2 * n / run["seconds"] / 1e6 for run in runs]
    return {
        "sieve": name,
        "URLs": n,
        "M offers/s": spread(rates),
        "CPU ns/offer": statistics.median(run["cpu"] for run in runs) / (2 * n) * 1e9,
        "memory B/URL": statistics.median(run["memory"] for run in runs) / n,
        "disk B/URL": statistics.median(run["disk"] for run in runs) / n,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sieve")
    parser.add_argument("n", nargs="*", type=int, default=[10**6, 10**7])
    parser.add_argument("--memory", default="256MiB", type=parse_size)
    parser.add_argument("--repeat", default=3, type=int)
    parser.add_argument("--one", choices=SIEVES, help="one run, in this process")
    options = parser.parse_args()
    if options.one:
        one(options.one, options.n[0], options.memory)
        return
    figures = Figures(
        "sieve",
        "How fast does a sieve take offers, and what does a URL cost it?",
        corpus=f"made-up URLs of about 60 bytes, memory {options.memory >> 20} MiB",
        packages=["rbloom"],
    )
    results = {
        (name, n): measure(name, n, options.memory, options.repeat)
        for n in options.n
        for name in SIEVES
    }
    note = f"{options.repeat} runs each; memory is the growth of the process"
    figures.table("Every URL offered twice", list(results.values()), note)
    for n in options.n:
        for peer in ("set", "rbloom"):
            pair = (results[name, n]["M offers/s"] for name in ("mercator", peer))
            figures.ratio(f"seen-set of {n:,}: crivello, Mercator ÷ {peer}", *pair)
    figures.finish()


if __name__ == "__main__":
    main()
