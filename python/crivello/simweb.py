"""The simulated web: hosts, pages and links made from a seed number, and the truth about them.

A page is a function of the seed, its host and its path: the same options give the same bytes,
today and on any machine, and no page takes memory. Every host `*.sim` is served on one loopback
port; the truth comes from the generator, never from a crawl.

    >>> from crivello.simweb import SimWeb
    >>> with SimWeb(hosts=3, pages=30) as web:
    ...     web.seed_url, web.truth().num_rows
    ('http://www.sim/', 30)
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, Self
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from crivello import _native
from crivello.errors import Error, UsageError

Profile = Literal["clean", "wild"]


class Request(NamedTuple):
    """A line of the server's log."""

    time_us: int
    """When the request's head had been read: microseconds of UTC, never running backwards."""
    host: str
    ip: str
    """The address of the server that the request came in on."""
    path: str
    status: int
    connection: int


class SimWeb:
    """A simulated web, served in this process by a thread of its own until closed.

    `profile="wild"` adds what crawlers meet (docs/simweb.md lists it), `addresses` spreads the
    hosts over 127.0.0.1, 127.0.0.2 …, `time_scale` is a factor of all waits, `log` a file to
    which a line for each request is appended, as `requests` reads it.

        >>> with SimWeb(hosts=2, pages=20, seed=1) as web:
        ...     web.resolve == [f"*.sim=127.0.0.1:{web.port}"]
        True
    """

    def __init__(
        self,
        hosts: int = 20,
        pages: int = 2000,
        *,
        seed: int = 7,
        profile: Profile = "clean",
        port: int = 0,
        addresses: int = 1,
        time_scale: float = 1.0,
        log: str | Path | None = None,
    ) -> None:
        self.log = None if log is None else Path(log)
        try:
            self._server = _native.SimWebServer(
                hosts=hosts,
                pages=pages,
                seed=seed,
                profile=profile,
                port=port,
                addresses=addresses,
                time_scale=time_scale,
                log=None if log is None else str(log),
            )
        except OSError as error:
            raise Error(f"simweb: {error}") from error
        except (ValueError, OverflowError) as error:
            raise UsageError(f"simweb: {error}") from error
        self.hosts = hosts
        self.seed = seed
        self.profile = profile
        self.addresses = addresses
        self.port = self._server.port
        self.seed_url = self._server.seed_url
        self.pages = self._server.pages
        self.resolve = self._server.resolve

    @property
    def served(self) -> int:
        """Requests answered so far."""
        return self._server.served

    def requests(self) -> list[Request]:
        """The requests of the log, in order of arrival (those of earlier servers too)."""
        if self.log is None:
            raise UsageError("simweb: requests are not kept: give SimWeb(log=FILE)")
        self._server.flush()
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return [_request(line.split("\t")) for line in lines]

    def truth(self) -> pa.Table:
        """One row a URL; docs/simweb.md says what the columns mean."""
        return pa.Table.from_batches(list(self._batches()))

    def write_truth(self, path: str | Path) -> int:
        """Write the truth as Parquet, 65,536 rows at a time, and return the number of rows."""
        rows = 0
        try:
            with contextlib.ExitStack() as stack:
                writer = None
                for batch in self._batches():
                    if writer is None:
                        writer = stack.enter_context(pq.ParquetWriter(str(path), batch.schema))
                    writer.write_batch(batch)
                    rows += batch.num_rows
        except OSError as error:
            raise Error(f"simweb: cannot write the truth to {path}: {error}") from error
        return rows

    def page(self, url: str) -> tuple[int, bytes]:
        """Status and body that the generator makes for a URL, without the network."""
        parts = urlsplit(url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        now_us = time.time_ns() // 1000
        return self._server.page(parts.netloc, path or "/", now_us)

    def close(self) -> None:
        """Stop serving; the sockets are closed and the log is whole when this returns."""
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        return (pa.record_batch(batch) for batch in self._server.truth())


def _request(fields: list[str]) -> Request:
    time_us, host, ip, path, status, connection = fields
    return Request(int(time_us), host, ip, path, int(status), int(connection))
