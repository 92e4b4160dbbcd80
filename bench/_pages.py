"""The same real pages for all kernels: a sample of Debian's documentation, or of a folder."""

from __future__ import annotations

import random
from pathlib import Path

from scripts.sites import SUFFIXES, TEST, site, unpacked

SEED = 1


def files(directory: str | None = None) -> list[Path]:
    """HTML files in a fixed random order, and of UTF-8 alone: kernels are given text."""
    if directory:
        roots = [Path(directory)]
    else:
        roots = [Path(site(name, folder).root) for name, folder in unpacked(TEST).items()]
    found = sorted(path for root in roots for path in root.rglob("*") if path.suffix in SUFFIXES)
    random.Random(SEED).shuffle(found)
    return [path for path in found if path.is_file() and path.stat().st_size]


def sample(most: int, directory: str | None = None) -> list[tuple[str, str]]:
    """Pages as `(url, text)`."""
    pages: list[tuple[str, str]] = []
    for path in files(directory):
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
        if len(pages) == most:
            break
        pages.append((f"http://www.debian.docs{path.as_posix()}", text))
    if not pages:
        raise SystemExit(f"bench: no HTML in {directory}: give a directory that holds some")
    return pages


def corpus(pages: list[tuple[str, str]], directory: str | None = None) -> str:
    """What was measured, in words."""
    size = sum(len(text.encode()) for _, text in pages)
    where = directory or "Debian's documentation"
    return f"{len(pages):,} pages of {where} (seed {SEED}), {size / 1e6:.1f} MB"
