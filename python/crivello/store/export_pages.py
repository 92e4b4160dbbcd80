"""Pages for other programs: as text, as Markdown, or their records in one WARC file.

`text` and `markdown` write a folder: a file a page in the layout HOST/PATH, and `index.jsonl`,
which says for each file what it is. What a file system could not hold, or not tell apart, is
cut or replaced in the name and then told apart by the URL's hash. The folder appears when it is
complete. `warc` copies records byte for byte, behind a `warcinfo` record of its own: so they must
all be compressed alike.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from crivello import __version__
from crivello._native import WarcRecords, to_markdown
from crivello.errors import UsageError
from crivello.store.capture import Capture, header
from crivello.store.export import OnProgress, atomic
from crivello.store.reader import Snapshot
from crivello.url import split, url_hash

FORMATS = ("text", "markdown", "warc")
SUFFIX = {"text": ".txt", "markdown": ".md"}
INDEX = "index.jsonl"

_COLUMNS = "url, visit, fetched_at, title, lang, warc_file, warc_offset, warc_length"
_LONGEST_NAME = 120
_LONGEST_PATH = 1000
_ODD = re.compile(r"[^A-Za-z0-9._~%=&,+@-]")


def export_pages(
    directory: str | Path,
    output: str | Path,
    *,
    to: str,
    where: str | None = None,
    host: str | None = None,
    force: bool = False,
    on_progress: OnProgress | None = None,
) -> int:
    """Write pages of the crawl in `directory` to `output`; how many.

    `where` is a condition in SQL over the columns of `pages`, `host` keeps one host's.
    """
    path = Path(output)
    if path.is_dir():
        raise UsageError(f"{path}: is a directory that exists; choose another name")
    if path.exists() and not force:
        raise UsageError(f"{path}: exists; choose another name, or --force to replace it")
    progress = on_progress or (lambda _done, _total: None)
    conditions = [f"({where})"] if where else []
    if host is not None:
        name = "'" + host.lower().replace("'", "''") + "'"
        conditions.append(f"(host = {name} or split_part(host, ':', 1) = {name})")
    with Snapshot.open(directory) as snapshot:
        if to == "warc":
            return _warc(snapshot, path, conditions, progress)
        with _folder(path) as folder:
            return _files(snapshot, folder, to, conditions, progress)


def _captures(snapshot: Snapshot, query: str, progress: OnProgress) -> Iterator[Capture]:
    rows = snapshot.sql(query).to_arrow()
    done = 0
    for batch in rows.to_batches():
        for number in range(batch.num_rows):
            yield Capture(snapshot.directory, batch.slice(number, 1))
            done += 1
            progress(done, rows.num_rows)


def _warc(snapshot: Snapshot, path: Path, conditions: list[str], progress: OnProgress) -> int:
    kept = " and ".join(["warc_file is not null", *conditions])
    query = (
        f"select {_COLUMNS} from pages where {kept} order by visit >> 48, warc_file, warc_offset"
    )
    fields = {
        "software": f"crivello/{__version__}",
        "format": "WARC File Format 1.1",
        "description": "records copied from a crawl",
    }
    compression = _compression(snapshot, path, kept)
    count = 0
    with atomic(path) as file:
        now = time.time_ns() // 1000
        records = WarcRecords(compression=compression)
        file.write(records.warcinfo(fields, filename=path.name, date_us=now))
        for page in _captures(snapshot, query, progress):
            file.write(page.member())
            count += 1
    return count


def _compression(snapshot: Snapshot, path: Path, kept: str) -> Literal["gzip", "zstd"]:
    """How the records are compressed; an error when one file of that name cannot hold them."""
    query = f"select distinct suffix(warc_file, '.zst') from pages where {kept}"
    found = [row[0] for row in snapshot.sql(query)]
    if len(found) > 1:
        raise UsageError(
            "some records are compressed with gzip and some with zstd, which do not go into one"
            " file; add --where \"suffix(warc_file, '.gz')\", or '.zst', and make two"
        )
    zstd = found == [True]
    if found and path.suffix == (".gz" if zstd else ".zst"):
        raise UsageError(
            f"{path}: the records are compressed with {'zstd' if zstd else 'gzip'};"
            f" choose a name that ends in .warc{'.zst' if zstd else '.gz'}"
        )
    return "zstd" if zstd else "gzip"


def _files(
    snapshot: Snapshot, folder: Path, to: str, conditions: list[str], progress: OnProgress
) -> int:
    text = ", text" if to == "text" else ""
    needed = "text is not null" if to == "text" else "warc_file is not null"
    kept = " and ".join(["status = 200", "text_len > 0", needed, *conditions])
    query = f"""
        select {_COLUMNS}{text} from pages where {kept}
        qualify row_number() over (partition by url_hash order by fetched_at desc, visit desc) = 1
        order by visit >> 48, warc_file, warc_offset
    """
    content: Callable[[Capture], str] = _markdown if to == "markdown" else _text
    count = 0
    with (folder / INDEX).open("w", encoding="utf-8") as index:
        for page in _captures(snapshot, query, progress):
            name = _free(folder, page.url, SUFFIX[to])
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content(page), "utf-8")
            facts = {"file": str(name), **_facts(page)}
            index.write(json.dumps(facts, ensure_ascii=False) + "\n")
            count += 1
    return count


def _facts(page: Capture) -> dict[str, Any]:
    """What is said of a page beside its content."""
    facts = {
        "url": page.url,
        "title": " ".join((page.title or "").split()),
        "fetched_at": page.fetched_at.isoformat().replace("+00:00", "Z"),
        "lang": page["lang"],
    }
    return {name: value for name, value in facts.items() if value}


def _text(page: Capture) -> str:
    return f"{page.text}\n"


def _markdown(page: Capture) -> str:
    """The page behind its facts as YAML, in which JSON's strings are strings."""
    head, body = page.message()
    kind = next(iter(header(head, "content-type")), None)
    facts = [
        f"{name}: {value if name == 'fetched_at' else json.dumps(value, ensure_ascii=False)}\n"
        for name, value in _facts(page).items()
    ]
    return f"---\n{''.join(facts)}---\n\n{to_markdown(body, page.url, kind)}"


def _free(folder: Path, url: str, suffix: str) -> PurePosixPath:
    name = file_name(url, suffix)
    if (folder / name).exists():
        name = name.with_name(f"{name.name.removesuffix(suffix)}~{url_hash(url):016x}{suffix}")
    return name


def file_name(url: str, suffix: str) -> PurePosixPath:
    """Where the page of a URL stands in an export.

    >>> str(file_name("http://example.org:8080/docs/", ".md"))
    'example.org_8080/docs/index.md'
    >>> str(file_name("http://example.org/a.html", ".txt"))
    'example.org/a.html.txt'
    """
    parts = split(url)
    path, _, query = parts.target.partition("?")
    *folders, last = path.lstrip("/").split("/")
    last = (last or "index") + (f"_{query}" if query else "")
    plain = _ODD.sub("_", last)
    if query or plain != last or len(plain) > _LONGEST_NAME:
        plain = f"{plain[:_LONGEST_NAME]}~{url_hash(url) & 0xFFFFFFFF:08x}"
    names = [_folder_name(name, suffix) for name in [parts.authority, *folders]]
    if sum(map(len, names)) > _LONGEST_PATH:
        names = [*names[:2], f"~{url_hash(url):016x}"]
    return PurePosixPath(*names, plain + suffix)


def _folder_name(name: str, suffix: str) -> str:
    """A folder's name: never a file's, which end in the suffix."""
    plain = _ODD.sub("_", name)[:_LONGEST_NAME] or "_"
    return f"{plain}_" if plain.endswith(suffix) or plain in (".", "..") else plain


@contextmanager
def _folder(path: Path) -> Iterator[Path]:
    """A folder that gets its name when the block ends well, and is gone when not."""
    draft = path.with_name(f".{path.name}.part")
    try:
        shutil.rmtree(draft, ignore_errors=True)  # of an export that was killed
        draft.mkdir()
        yield draft
        path.unlink(missing_ok=True)
        draft.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
