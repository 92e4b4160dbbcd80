"""Seeds: where a crawl starts, and who must be told who is crawling."""

from __future__ import annotations

import codecs
import fnmatch
import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from crivello.errors import UsageError
from crivello.url import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable

_COMMENT = re.compile(r"(?:^|\s)#.*")
_NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class SeedFile:
    """The seeds of a file, and what was wrong with its other lines."""

    seeds: list[str]
    problems: list[str]


def read_seed_file(path: Path) -> SeedFile:
    """Read one URL a line; a `#` at the start of a line or after white space begins a comment."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: the seed file cannot be read: {error.strerror}") from None
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    lines = data.decode("utf-16" if utf16 else "utf-8-sig", errors="replace")
    seeds, problems = [], []
    for number, line in enumerate(_NEWLINE.split(lines), 1):
        text = _COMMENT.sub("", line).strip()
        if not text:
            continue
        try:
            seeds.append(normalise(text))
        except ValueError as error:
            problems.append(f"{path}:{number}: left out: {error}")
    return SeedFile(seeds, problems)


def normalised(seeds: Iterable[str]) -> list[str]:
    """The seeds in their normal form, each once, in order."""
    unique: dict[str, None] = {}
    for seed in seeds:
        try:
            unique[normalise(seed)] = None
        except ValueError as error:
            raise UsageError(f"seed {seed!r}: {error}") from None
    return list(unique)


def is_local(url: str) -> bool:
    """Whether a URL names this machine or a private address by itself, without any look-up."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return False


def is_resolved(url: str, rules: Iterable[str]) -> bool:
    """Whether a `--resolve` rule answers for the URL's host."""
    host = urlsplit(url).hostname or ""
    return any(fnmatch.fnmatchcase(host, rule.partition("=")[0].lower()) for rule in rules)


def stranger(seeds: Iterable[str], rules: Iterable[str]) -> str | None:
    """The first seed whose host is somebody else's, so that the crawler must introduce itself."""
    rules = list(rules)
    strangers = (seed for seed in seeds if not is_local(seed) and not is_resolved(seed, rules))
    return next(strangers, None)


def local_hosts(seeds: Iterable[str]) -> list[str]:
    """Authorities of seeds that are local by themselves: only these may be asked as such."""
    return sorted({urlsplit(seed).netloc for seed in seeds if is_local(seed)})


def resolved_addresses(rules: Iterable[str]) -> list[str]:
    """The addresses to which `--resolve` rules lead."""
    addresses = set()
    for rule in rules:
        target = rule.partition("=")[2]
        bare = target[1:].partition("]")[0] if target.startswith("[") else target.partition(":")[0]
        addresses.add(bare if target.count(":") <= 1 or target.startswith("[") else target)
    return sorted(addresses)
