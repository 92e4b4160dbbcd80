"""The file `index/index.json`: which segments are the index, and what has been read for them.

    {"version": 1,
     "segments": [{"file": "0/000001.seg", "len": 812345, "crc": 77, "documents": 2000,
                   "from": {"0": [[1, 3]]}}],
     "indexed": {"0": 3}, "crc": 1234}

`from` has, by agent, the numbers of the entries of `pages`' manifest that a segment's documents
come from; `indexed` the last number that is read. The file is replaced by one rename, after the
segments that it names have been written: what it does not name is not of the index. All of it is
derived, and may be deleted at any time. `crc` is that of checkpoints (`crivello.store.checkpoint`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crivello.errors import Error, UsageError
from crivello.store import checkpoint

if TYPE_CHECKING:
    from crivello._native import Files

FOLDER = "index"
NAME = f"{FOLDER}/index.json"

Ranges = dict[str, list[list[int]]]


@dataclass(frozen=True)
class Segment:
    """A file of the index: `file` is its path below `index`."""

    file: str
    len: int
    crc: int
    documents: int
    origin: Ranges
    """From which entries of which agent's manifest: [first, last] ranges."""

    @property
    def path(self) -> str:
        """Its path below the crawl's directory."""
        return f"{FOLDER}/{self.file}"


@dataclass(frozen=True)
class Index:
    """The state of an index, as one version of the file names it."""

    segments: tuple[Segment, ...] = ()
    indexed: dict[str, int] = field(default_factory=dict)

    @property
    def documents(self) -> int:
        """Documents of all segments, superseded ones too."""
        return sum(segment.documents for segment in self.segments)

    @property
    def bytes(self) -> int:
        """Bytes of all segments."""
        return sum(segment.len for segment in self.segments)


def rebuild(root: Path) -> str:
    """What to do about a damaged index."""
    return f"`crivello index {root} --rebuild` makes the index anew"


def none_yet(root: Path) -> UsageError:
    """The error of who searches a crawl without an index."""
    return UsageError(f"{root}: has no index yet; `crivello index {root}` makes it")


def read(root: Path) -> Index | None:
    """The index of a crawl; None when there is none. Other damage is an error that says so."""
    path = root / NAME
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Error(f"{path}: cannot be read: {error.strerror}") from None
    try:
        state = checkpoint.decode(data, path)
        segments = tuple(
            Segment(origin=part["from"], **{name: part[name] for name in part if name != "from"})
            for part in state["segments"]
        )
        return Index(segments, dict(state["indexed"]))
    except (Error, KeyError, TypeError, AttributeError):
        raise Error(f"{path}: is damaged, or of another version; {rebuild(root)}") from None


def write(files: Files, index: Index) -> None:
    """Make `index` the one that readers see."""
    segments: list[dict[str, Any]] = [
        {
            "file": segment.file,
            "len": segment.len,
            "crc": segment.crc,
            "documents": segment.documents,
            "from": segment.origin,
        }
        for segment in index.segments
    ]
    state = {"segments": segments, "indexed": index.indexed}
    files.write_atomic(NAME, checkpoint.encode(state))
