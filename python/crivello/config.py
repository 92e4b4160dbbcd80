"""Every setting of a crawl: one typed model, one table a section of `crivello.toml`.

A value is taken from, in rising order of weight: the default written here, the environment
(`CRIVELLO_<SECTION>_<KEY>`, a list separated by commas), the file, the command line. A *hot*
setting may be changed on a crawl that exists; a *cold* one shapes what is on disk and is
fixed when the crawl is made.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from crivello.errors import UsageError
from crivello.units import format_size, parse_duration, parse_size

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

FILE = "crivello.toml"
PREFIX = "CRIVELLO_"
_TARGET = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([0-9a-fA-F:.]+?))(?::(\d{1,5}))?")

LinkKind = Literal[
    "a", "area", "iframe", "frame", "meta-refresh", "redirect", "sitemap", "feed",
    "link", "img", "script", "style", "media", "form", "canonical", "alternate",
]  # fmt: skip
Keep = Literal["warc", "pages", "links", "text"]
LINK_KINDS: tuple[LinkKind, ...] = get_args(LinkKind)
FOLLOWED = LINK_KINDS[:8]
KEPT: tuple[Keep, ...] = get_args(Keep)

# The names that settings have as options of `crivello crawl` and keywords of `crivello.Crawl`.
OPTIONS = {
    "scope": "crawl.scope",
    "max_pages": "crawl.max_pages",
    "max_depth": "crawl.max_depth",
    "max_time": "crawl.max_time",
    "delay": "politeness.delay",
    "ip_delay": "politeness.ip_delay",
    "ratio": "politeness.ratio",
    "memory": "memory.total",
    "visits": "fetch.visits",
    "sieve": "sieve.kind",
    "frontier": "frontier.kind",
    "agent_name": "fetch.agent_name",
    "contact": "fetch.contact",
    "resolve": "fetch.resolve",
    "allow_private": "fetch.allow_private",
    "store": "store.keep",
    "follow": "page.follow",
    "index": "store.index",
    "checkpoint_every": "checkpoint.every",
}


class SettingError(UsageError):
    """A setting that does not exist, or a value that it cannot have."""

    def __init__(self, key: str, problem: str, where: str = "") -> None:
        super().__init__(f"{where}: {key}{problem}" if where else f"{key}{problem}")
        self.key = key
        self.problem = problem
        self.where = where


def _list(value: object) -> object:
    if isinstance(value, str):
        return tuple(part for part in (piece.strip() for piece in value.split(",")) if part)
    return tuple(value) if isinstance(value, list) else value


def _kept(value: object) -> object:
    parts = _list(value)
    return () if parts == ("none",) else parts


def _resolves(value: tuple[str, ...]) -> tuple[str, ...]:
    for rule in value:
        pattern, _, target = rule.partition("=")
        match = _TARGET.fullmatch(target)
        if not pattern or match is None or int(match[3] or 1) > 65535:
            raise ValueError(rule)
        ip_address(match[1] or match[2])
    return value


LONGEST = 1e9  # seconds: thirty years; more would not fit the clocks
Duration = Annotated[float, BeforeValidator(parse_duration), Field(le=LONGEST)]
Size = Annotated[int, BeforeValidator(parse_size)]
Words = Annotated[tuple[str, ...], BeforeValidator(_list)]
Kinds = Annotated[tuple[LinkKind, ...], BeforeValidator(_list)]
Kept = Annotated[tuple[Keep, ...], BeforeValidator(_kept)]
Resolves = Annotated[tuple[str, ...], BeforeValidator(_list), AfterValidator(_resolves)]

_SECONDS = 'seconds, as a number ≥ 0 or with a unit ("500ms", "90s", "10m", "2h", "1d")'
_LIMIT = 'seconds, as a number > 0 or with a unit ("500ms", "90s", "10m", "2h", "1d")'
_SIZE = 'bytes, as a number or with a unit ("64KiB", "10MiB", "1GiB")'


def _setting(
    default: Any,  # noqa: ANN401 - each setting has its own type
    description: str,
    *,
    hot: bool,
    allowed: str,
    **bounds: Any,  # noqa: ANN401 - handed on to pydantic
) -> Any:  # noqa: ANN401 - what pydantic's Field is typed as
    return Field(
        default=default,
        description=description,
        json_schema_extra={"hot": hot, "allowed": allowed},
        **bounds,
    )


class Section(BaseModel):
    """A table of the settings file."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class CrawlSection(Section):
    """What is crawled, and when to stop."""

    seeds: Words = _setting(
        (), "URLs to start from; more may be added later.", hot=True, allowed="a list of URLs"
    )
    scope: Literal["page", "prefix", "host", "domain", "any"] = _setting(
        "host",
        "Which links are followed: those to the seeds alone, below a seed's folder, on a seed's"
        " host, on its registrable domain, or all.",
        hot=False,
        allowed="page, prefix, host, domain or any",
    )
    max_pages: int | None = _setting(
        None,
        "Stop when the whole crawl holds this many pages with status 200.",
        hot=True,
        allowed="a whole number ≥ 1",
        ge=1,
    )
    max_depth: int | None = _setting(
        None,
        "Follow no link further than this many links from a seed.",
        hot=False,
        allowed="a whole number from 0 to 65535",
        ge=0,
        le=65535,
    )
    max_time: Duration | None = _setting(
        None, "Stop after this time (of each run).", hot=True, allowed=_LIMIT, gt=0
    )


class PolitenessSection(Section):
    """How hosts are treated."""

    delay: Duration = _setting(
        1.0,
        "Silence to a host from the end of a request to the next (seconds).",
        hot=True,
        allowed=_SECONDS,
        ge=0,
    )
    ip_delay: Duration | None = _setting(
        None,
        "The same to an address, whatever hosts it serves (seconds). Unset: 1 for public"
        " addresses, 0 for loopback and names given by `resolve`.",
        hot=True,
        allowed=_SECONDS,
        ge=0,
    )
    max_crawl_delay: Duration = _setting(
        60.0,
        "A Crawl-delay in robots.txt is obeyed up to this (seconds).",
        hot=True,
        allowed=_SECONDS,
        ge=0,
    )
    ratio: float | None = _setting(
        None,
        "Ratio mode: P downloads in a burst over one connection, then stays silent for the"
        " time it took divided by P (never less than `delay`).",
        hot=True,
        allowed="a number > 0, as 0.1",
        gt=0,
    )


class FetchSection(Section):
    """Requests: who asks, how many at once, and for how long."""

    visits: int = _setting(
        256, "Hosts visited at once.", hot=True, allowed="a whole number from 1 to 65536",
        ge=1, le=65536,
    )  # fmt: skip
    agent_name: str = _setting(
        "crivello",
        "The name in User-Agent, and the one looked up in robots.txt.",
        hot=True,
        allowed="letters, digits, - and _ (the product token of RFC 9309)",
        pattern=r"^[A-Za-z0-9_-]+$",
        max_length=64,
    )
    contact: str | None = _setting(
        None,
        "A page or mail address for webmasters, sent in User-Agent; required for hosts that"
        " are not local.",
        hot=True,
        allowed="an http(s) URL or a mail address",
        pattern=r"^(https?://\S+|[^@\s]+@[^@\s]+)$",
    )
    resolve: Resolves = _setting(
        (),
        "Names answered here and not by DNS, as PATTERN=ADDRESS[:PORT].",
        hot=True,
        allowed='a list of PATTERN=ADDRESS[:PORT], as "*.sim=127.0.0.1:8080"',
    )
    allow_private: bool = _setting(
        False,
        "Also ask hosts with private addresses (loopback, 10/8, 192.168/16, …).",
        hot=True,
        allowed="true or false",
    )
    max_body: Size = _setting(
        10 << 20,
        "Bytes of a body that are kept; longer ones are cut and marked `truncated`.",
        hot=True,
        allowed=_SIZE,
        ge=1024,
    )
    connect_timeout: Duration = _setting(
        10.0, "For a name, a connection and TLS, each (seconds).", hot=True, allowed=_LIMIT, gt=0
    )
    first_byte_timeout: Duration = _setting(
        20.0,
        "From the request to the first byte, and from each read to the next (seconds).",
        hot=True,
        allowed=_LIMIT,
        gt=0,
    )
    idle_timeout: Duration = _setting(
        10.0,
        "A connection without work is kept this long for its host's next visit (seconds).",
        hot=True,
        allowed=_LIMIT,
        gt=0,
    )
    total_timeout: Duration = _setting(
        60.0, "For a whole request (seconds).", hot=True, allowed=_LIMIT, gt=0
    )
    retries: int = _setting(
        2,
        "Further attempts at a URL that failed for a reason that may pass.",
        hot=True,
        allowed="a whole number from 0 to 100",
        ge=0,
        le=100,
    )
    retry_delay: Duration = _setting(
        1.0,
        "Silence to the host of a URL that is tried again, doubled at each further try (seconds).",
        hot=True,
        allowed=_SECONDS,
        ge=0,
    )
    dead_after: int = _setting(
        3,
        "A host that could not be reached this many times in a row is retired.",
        hot=True,
        allowed="a whole number ≥ 1",
        ge=1,
    )


class SieveSection(Section):
    """The structure that lets every URL through exactly once."""

    kind: Literal["mercator", "memory"] = _setting(
        "mercator",
        "`mercator` keeps signatures on disk and memory constant; `memory` keeps them all in"
        " memory.",
        hot=False,
        allowed="mercator or memory",
    )


class FrontierSection(Section):
    """The queues of URLs that wait, one a host."""

    kind: Literal["disk", "memory"] = _setting(
        "disk",
        "`disk` keeps queues beyond a budget on disk; `memory` keeps them all in memory.",
        hot=False,
        allowed="disk or memory",
    )


class PageSection(Section):
    """What is read in a page."""

    follow: Kinds = _setting(
        FOLLOWED,
        "Kinds of links that are followed; the others are recorded only.",
        hot=False,
        allowed="a list of " + ", ".join(LINK_KINDS),
    )
    threads: int = _setting(
        0,
        "Threads that parse pages; 0 is one for each core.",
        hot=True,
        allowed="a whole number from 0 to 1024",
        ge=0,
        le=1024,
    )


class StoreSection(Section):
    """What is kept, and how it is written."""

    keep: Kept = _setting(
        KEPT,
        "WARC records, rows of `pages`, rows of `links`, the text in `pages`; `none` keeps the"
        " table `urls` alone.",
        hot=False,
        allowed="none, or a list of warc, pages, links, text",
    )
    warc_compression: Literal["gzip", "zstd"] = _setting(
        "gzip",
        "A gzip member (`.warc.gz`) or a zstd frame (`.warc.zst`) a record: every tool reads gzip;"
        " zstd takes half the time and less room.",
        hot=True,
        allowed="gzip or zstd",
    )
    warc_gzip_level: int = _setting(
        1,
        "Effort of gzip; 6 saves a tenth of the room for twice the time.",
        hot=True,
        allowed="a whole number from 1 to 12",
        ge=1,
        le=12,
    )
    warc_zstd_level: int = _setting(
        3,
        "Effort of zstd.",
        hot=True,
        allowed="a whole number from 1 to 22",
        ge=1,
        le=22,
    )
    seal_bytes: Size = _setting(
        64 << 20,
        "A table's rows become a Parquet file at this many Arrow bytes …",
        hot=True,
        allowed=_SIZE,
        ge=1 << 16,
    )
    seal_seconds: Duration = _setting(
        900.0, "… or after this time (seconds).", hot=True, allowed=_LIMIT, gt=0
    )
    index: bool = _setting(
        True,
        "Keep an index of the pages with text, so that they can be searched.",
        hot=True,
        allowed="true or false",
    )
    fsync: bool = _setting(
        False,
        "Wait for the disk at each checkpoint: the guarantee then holds for power loss too.",
        hot=True,
        allowed="true or false",
    )


class CheckpointSection(Section):
    """The common point that a crash falls back to."""

    every: Duration = _setting(
        2.0, "From one checkpoint to the next (seconds).", hot=True, allowed=_LIMIT, gt=0
    )


class MemorySection(Section):
    """The budget."""

    total: Size = _setting(
        1 << 30,
        "Bytes that all structures share.",
        hot=True,
        allowed=f"{_SIZE}, at least 256MiB",
        ge=256 << 20,
    )


class NearSection(Section):
    """Near duplicates."""

    k: int = _setting(
        3,
        "Pages are near duplicates when their simhashes differ in at most this many bits.",
        hot=False,
        allowed="0, 1, 2 or 3",
        ge=0,
        le=3,
    )


@dataclass(frozen=True)
class Described:
    """A setting as documentation and `crivello.toml` show it."""

    key: str
    default: object
    description: str
    allowed: str
    hot: bool


class Settings(Section):
    """The settings of a crawl, section by section.

    >>> settings, changed = Settings().override({"politeness.delay": "500ms"})
    >>> settings.politeness.delay, changed
    (0.5, ['politeness.delay'])
    """

    crawl: CrawlSection = CrawlSection()
    politeness: PolitenessSection = PolitenessSection()
    fetch: FetchSection = FetchSection()
    sieve: SieveSection = SieveSection()
    frontier: FrontierSection = FrontierSection()
    page: PageSection = PageSection()
    store: StoreSection = StoreSection()
    checkpoint: CheckpointSection = CheckpointSection()
    memory: MemorySection = MemorySection()
    near: NearSection = NearSection()

    @classmethod
    def load(
        cls, path: str | Path | None = None, *, environ: Mapping[str, str] | None = None
    ) -> Self:
        """Defaults, then the environment, then the file at `path` (none: without a file)."""
        settings = cls._overridden(cls(), from_environment(environ), "environment")
        if path is None:
            return settings
        return cls._overridden(settings, read_toml(Path(path)), str(path))

    @classmethod
    def _overridden(cls, settings: Self, changes: Mapping[str, object], where: str) -> Self:
        return settings.override(changes, where=where)[0]

    def save(self, path: str | Path) -> None:
        """Write to `path`, atomically; of a file that exists, comments and order are kept."""
        from crivello import settings_file

        settings_file.save(self, Path(path))

    def override(self, changes: Mapping[str, object], *, where: str = "") -> tuple[Self, list[str]]:
        """These settings with `changes` (dotted key → value; None: the default), and the keys
        whose value is now another.

        Raises `SettingError` for a key that does not exist or a value that is not allowed.
        """
        nested = self.model_dump()
        for key, value in changes.items():
            check_key(key, where)
            section, name = key.split(".")
            nested[section][name] = field(key).default if value is None else value
        try:
            new = type(self).model_validate(nested)
        except ValidationError as error:
            raise _explain(error, nested, where) from None
        return new, [key for key in keys() if self[key] != new[key]]

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - each setting has its own type
        """A setting's value by its dotted key."""
        section, name = check_key(key).split(".")
        return getattr(getattr(self, section), name)

    def cold(self) -> dict[str, Any]:
        """The settings that are fixed once a crawl is made, as JSON has them."""
        plain = self.model_dump(mode="json")
        cold = (item.key.split(".") for item in describe() if not item.hot)
        return {f"{section}.{name}": plain[section][name] for section, name in cold}


def field(key: str) -> FieldInfo:
    """The model's field behind a dotted key."""
    section, name = key.split(".")
    model = Settings.model_fields[section].annotation
    assert model is not None
    fields: dict[str, FieldInfo] = model.model_fields
    return fields[name]


def keys() -> list[str]:
    """Dotted keys of all settings, in the order of the model."""
    return [f"{section}.{name}" for section, name in _pairs()]


def _pairs() -> Iterator[tuple[str, str]]:
    for section, info in Settings.model_fields.items():
        assert info.annotation is not None
        for name in info.annotation.model_fields:
            yield section, name


def describe() -> list[Described]:
    """All settings with their documentation."""
    described = []
    for key in keys():
        info = field(key)
        extra = info.json_schema_extra
        assert isinstance(extra, dict)
        described.append(
            Described(
                key, info.default, info.description or "", str(extra["allowed"]), bool(extra["hot"])
            )
        )
    return described


def cold_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Keys of `Settings.cold()` whose value is now another."""
    return [key for key, value in new.items() if old.get(key, value) != value]


def check_key(key: str, where: str = "") -> str:
    """`key` itself, or an error that names the nearest setting there is."""
    known = keys()
    if key in known:
        return key
    by_name = [
        candidate for candidate in known if candidate.split(".")[1] == key.rpartition(".")[2]
    ]
    near = by_name or difflib.get_close_matches(key, known, n=1, cutoff=0.4)
    hint = f"the nearest is {near[0]}" if near else "docs/settings.md lists them all"
    raise SettingError(key, f": there is no such setting; {hint}", where)


def from_environment(environ: Mapping[str, str] | None = None) -> dict[str, object]:
    """Settings given as `CRIVELLO_<SECTION>_<KEY>`."""
    found: dict[str, object] = {}
    for variable, value in sorted((os.environ if environ is None else environ).items()):
        rest = variable.removeprefix(PREFIX).lower()
        section, _, name = rest.partition("_")
        if variable.startswith(PREFIX) and section in Settings.model_fields:
            found[check_key(f"{section}.{name}", f"environment variable {variable}")] = value
    return found


def read_toml(path: Path) -> dict[str, object]:
    """The dotted keys and values of a settings file."""
    import tomllib

    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8 text; settings files are TOML") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: is not TOML: {error}") from None
    found: dict[str, object] = {}
    for section, table in document.items():
        if not isinstance(table, dict) or section not in Settings.model_fields:
            name = f"[{section}]" if isinstance(table, dict) else section
            near = difflib.get_close_matches(section, Settings.model_fields, n=1, cutoff=0.4)
            hint = f"the nearest is [{near[0]}]" if near else "docs/settings.md lists them all"
            if not isinstance(table, dict):
                check_key(section, str(path))
            raise SettingError(name, f": there is no such section; {hint}", str(path))
        found.update({f"{section}.{name}": value for name, value in table.items()})
    return found


def shown(value: object) -> str:
    """A value as a person would type it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return ",".join(map(str, value)) or "none"
    return "unset" if value is None else str(value)


def shown_at(key: str, value: object) -> str:
    """`shown`, with sizes by name."""
    return format_size(value) if is_size(key) and isinstance(value, int) else shown(value)


def is_size(key: str) -> bool:
    """Is the setting a number of bytes?"""
    return any(getattr(mark, "func", None) is parse_size for mark in field(key).metadata)


def _explain(error: ValidationError, nested: Mapping[str, Any], where: str) -> SettingError:
    location: Sequence[int | str] = error.errors()[0]["loc"]
    key = f"{location[0]}.{location[1]}"
    value = nested[str(location[0])][str(location[1])]
    extra = field(key).json_schema_extra
    assert isinstance(extra, dict)
    return SettingError(key, f" = {value!r}: allowed is {extra['allowed']}", where)
