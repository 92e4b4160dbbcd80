"""How much CPU does simweb spend a page? `python -m bench.simweb` after `make release`.

The server is a process of its own; its CPU time is read from /proc before and after a client
has fetched pages over four kept-alive connections, so the client's own cost is not in it.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.parquet as pq

from bench._figures import Figures

RUN = "import typer; from crivello.cli.simweb import simweb; typer.run(simweb)"


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fetch(connection: socket.socket, requests: list[bytes]) -> int:
    """Fetches the pages one by one and returns their bytes."""
    received = 0
    buffer = bytearray(1 << 20)
    view = memoryview(buffer)
    for request in requests:
        connection.sendall(request)
        head, length, got = -1, None, 0
        while head < 0 or (got < length if length else buffer[got - 5 : got] != b"0\r\n\r\n"):
            got += connection.recv_into(view[got:])
            if head < 0 and (head := buffer.find(b"\r\n\r\n", 0, got)) >= 0:
                at = buffer.find(b"Content-Length: ", 0, head)
                length = head + 4 + int(buffer[at + 16 : buffer.find(b"\r", at)]) if at > 0 else 0
        received += got
    return received


def requests(path: str, accept: str) -> list[bytes]:
    result = []
    for url in pq.read_table(path, columns=["url"])["url"].to_pylist():
        parts = urlsplit(url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        result.append(f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\n{accept}\r\n".encode())
    return result


def measure(accept: str, pages: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as directory:
        truth = str(Path(directory) / "truth.parquet")
        command = [sys.executable, "-c", RUN, "--pages", str(pages), "--truth", truth]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            facts = json.loads(server.stdout.readline())
            asked = requests(truth, accept)
            connections = [socket.create_connection(("127.0.0.1", facts["port"])) for _ in range(4)]
            fetch(connections[0], asked[:200])
            before, began = cpu_seconds(server.pid), time.perf_counter()
            size = sum(fetch(c, asked[n::4]) for n, c in enumerate(connections))
            wall, cpu = time.perf_counter() - began, cpu_seconds(server.pid) - before
            server.terminate()
        return {
            "gzip": bool(accept),
            "pages": pages,
            "mean bytes": round(size / pages),
            "CPU µs/page": round(cpu / pages * 1e6, 1),
            "pages/s": round(pages / wall),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=50_000)
    pages = parser.parse_args().pages
    figures = Figures("simweb", "How much CPU does simweb spend a page?")
    rows = [measure(accept, pages) for accept in ("", "Accept-Encoding: gzip\r\n")]
    figures.table("Pages served", rows, "the server's CPU alone")
    figures.finish()


if __name__ == "__main__":
    main()
