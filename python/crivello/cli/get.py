"""`crivello get`: one page."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crivello.errors import UsageError

if TYPE_CHECKING:
    from crivello.store.capture import Capture


def get(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the crawl.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="Its URL; it is normalised first.")],
    *,
    body: Annotated[
        bool, typer.Option("--body", help="The body, its content-coding removed.")
    ] = False,
    text: Annotated[bool, typer.Option("--text", help="The visible text.")] = False,
    headers: Annotated[bool, typer.Option("--headers", help="The HTTP headers.")] = False,
    record: Annotated[bool, typer.Option("--record", help="The whole WARC record.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Its row of the table pages as one JSON object.")
    ] = False,
) -> None:
    """Show one page of a crawl: what is stored of it, or its bytes.

    Of several visits the latest is shown. A URL that was denied or failed says so;
    `crivello why DIR URL` says more.

    \b
    Examples:
      crivello get example https://example.org/
      crivello get example https://example.org/ --body > page.html
      crivello get example https://example.org/ --json | jq .title
    """
    wanted = [body, text, headers, record, as_json]
    if sum(wanted) > 1:
        raise UsageError("get: choose one of --body, --text, --headers, --record and --json")
    from crivello.crawl import open_crawl

    page = open_crawl(directory).get(url)
    if as_json:
        from crivello.store.jsonl import json_rows, plain

        print(json.dumps(next(json_rows(page.row)), ensure_ascii=False, default=plain))
    elif text:
        if page.text is None:
            raise UsageError(f"{page.url}: no text is stored of it")
        print(page.text)
    elif body or headers or record:
        out = page.body() if body else page.headers() if headers else page.record()
        sys.stdout.buffer.write(out)
        sys.stdout.buffer.flush()
    else:
        for name, value in _facts(page).items():
            print(f"{name:<12}{value}")


def _facts(page: Capture) -> dict[str, str]:
    from crivello.cli.screen import clock
    from crivello.units import human_size

    facts = {"url": page.url, "fetched": clock(page.fetched_at), "status": _outcome(page)}
    if page["ip"] is not None:
        facts["from"] = f"{page['ip']} by HTTP/{page['http']}"
    if page["mime"] is not None:
        charset = f", {page['charset']}" if page["charset"] else ""
        facts["type"] = f"{page['mime']}{charset}, {human_size(page['bytes'])}"
    for name, column in (("title", "title"), ("language", "lang"), ("canonical", "canonical")):
        if page[column]:
            facts[name] = " ".join(page[column].split())
    if page["text_len"]:
        facts["text"] = f"{page['text_len']:,} bytes"
    if page["warc_file"] is not None:
        place = f"bytes {page['warc_offset']:,} + {page['warc_length']:,}"
        facts["archive"] = f"{page.warc_path.relative_to(page.directory)}, {place}"
    return facts


def _outcome(page: Capture) -> str:
    if page.status is None:
        return f"none: {page.error}"
    told = str(page.status)
    if page["redirect_to"]:
        told += f", moved to {page['redirect_to']}"
    elif page.error and page.error != f"http-{page.status}":
        told += f" ({page.error})"
    if page["truncated"]:
        told += f", cut ({page['truncated']})"
    return told
