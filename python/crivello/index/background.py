"""Indexing while a crawl runs: one thread, beside the loop, for what has been sealed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event

from crivello.crawl.lock import LockedError
from crivello.errors import Error
from crivello.index import state
from crivello.index.indexer import Indexer, Update

LOOK_EVERY = 0.05


class Background:
    """Indexes what a crawl seals, as it is sealed. The loop only tells it that there is more.

    The index can always be made again, so its failures never end a crawl: `problem` says what
    happened, and nothing more is indexed in this run.
    """

    def __init__(self, indexer: Indexer) -> None:
        self._indexer = indexer
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="crivello-index")
        self._stopping = Event()
        self._running: Future[Update] | None = None
        self._sealed = -1
        self._complete = False
        self._taken: str | None = None
        self.documents = _known(indexer.root)
        self.waiting = 0
        self.problem: str | None = None

    @property
    def memory_bytes(self) -> int:
        """What the segment under construction holds."""
        return self._indexer.memory_bytes

    def maybe(self, sealed: int) -> None:
        """Begin, unless it is under way, if `sealed` files are another number than last time."""
        self._harvest()
        if self._running is None and self.problem is None and sealed != self._sealed:
            self._begin(sealed)

    def _begin(self, sealed: int) -> None:
        self._sealed = sealed
        self._running = self._pool.submit(
            self._indexer.update, stop=self._stopping.is_set, on_progress=self._progress
        )

    def _progress(self, done: int, total: int) -> None:
        self.waiting = total - done

    def _harvest(self) -> None:
        """Take over what is done."""
        if self._running is None or not self._running.done():
            return
        running, self._running = self._running, None
        self._complete, self._taken, self.waiting = False, None, 0
        try:
            done = running.result()
            self.documents, self._complete = done.index.documents, done.complete
        except LockedError as error:  # another process is at it: look again when more is sealed
            self._taken = str(error)
        except (Error, OSError, ValueError) as error:
            self.problem = str(error)

    def finish(self, sealed: int, *, stop: Callable[[], bool], on_turn: Callable[[], None]) -> None:
        """Index the rest, and wait for it; not if `stop()` turns true, or at Ctrl-C."""
        asked_before = stop()
        try:
            self._until_idle(lambda: stop() and not asked_before, on_turn)
            if self.problem is None and not self._stopping.is_set():
                self._begin(sealed)
                self._until_idle(lambda: stop() and not asked_before, on_turn)
        except KeyboardInterrupt:
            pass
        self.close()
        if not self._complete and self.problem is None:
            root = self._indexer.root
            told = self._taken or "not all pages are indexed"
            self.problem = f"{told}; `crivello index {root}` adds the rest"

    def _until_idle(self, stop: Callable[[], bool], on_turn: Callable[[], None]) -> None:
        while self._running is not None:
            wait([self._running], timeout=LOOK_EVERY)
            self._harvest()
            if stop():
                self._stopping.set()
            on_turn()

    def close(self) -> None:
        """Stop where it is, and end the thread."""
        self._stopping.set()
        self._pool.shutdown(wait=True)
        self._harvest()


def _known(root: Path) -> int:
    """How many documents the index holds; of one that cannot be read the first update tells."""
    try:
        index = state.read(root)
    except Error:
        return 0
    return index.documents if index else 0
