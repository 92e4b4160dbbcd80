"""`crivello why`: what became of a URL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from crivello.crawl.why import Why


def why(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the crawl.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="Any URL; it is normalised first.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print it as one JSON object.")] = False,
) -> None:
    """Explain what became of a URL: its state, how it was found, which rule decided.

    States: queued, stored, redirect, failed, denied; refused (pages link to it, but it was not
    admitted) and never seen. Shown besides: the pages from a seed to it, the deciding line of
    robots.txt, links to it, duplicates, and where its record lies.

    \b
    Examples:
      crivello why example https://example.org/missing.html
      crivello why example https://example.org/ --json | jq .chain
    """
    from crivello.crawl import open_crawl
    from crivello.store.jsonl import plain

    known = open_crawl(directory).why(url)
    if as_json:
        print(json.dumps(_facts(known), ensure_ascii=False, default=plain))
        return
    for name, value in _lines(known):
        print(f"{name:<12}{value}")


def _facts(known: Why) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for field in fields(known):
        value = getattr(known, field.name)
        if field.name == "page":
            columns = ("visit", "fetched_at", "status", "error", "redirect_to", "warc_file",
                       "warc_offset", "warc_length")  # fmt: skip
            facts["page"] = value and {column: value[column] for column in columns}
        elif isinstance(value, list):
            facts[field.name] = [asdict(item) for item in value]
        else:
            facts[field.name] = asdict(value) if hasattr(value, "__dataclass_fields__") else value
    return facts


def _lines(known: Why) -> Iterator[tuple[str, str]]:
    from crivello.cli.screen import clock

    yield "url", known.url
    yield "state", f"{known.state}: {known.reason}"
    if known.admitted_at is not None:
        yield "admitted", clock(known.admitted_at)
    for number, step in enumerate(known.chain):
        depth = "" if step.depth is None else f", depth {step.depth}"
        yield "found by" if number == 0 else "", f"{step.url} ({step.link}{depth})"
    if not known.chain:
        yield "scope", f"{known.scope}: {'inside' if known.in_scope else 'outside'}"
    if known.robots is not None:
        rule = known.robots
        said = "allowed" if rule.allowed else "forbidden"
        said += f' by line {rule.line}, "{rule.text}"' if rule.line is not None else ""
        yield "robots", f"{rule.robots} of {clock(rule.fetched_at)}: {said}"
    if known.page is not None:
        page = known.page
        yield "fetched", f"{clock(page.fetched_at)}: {page.status or page.error}"
        if page["warc_file"] is not None:
            place = f"bytes {page['warc_offset']:,} + {page['warc_length']:,}"
            yield "archive", f"{page.warc_path.relative_to(page.directory)}, {place}"
    for number, link in enumerate(known.linked_from):
        told = f"; not followed: {link.not_followed}" if link.not_followed else ""
        yield "linked from" if number == 0 else "", f"{link.page} ({link.kind}){told}"
    if known.duplicate_of is not None:
        copy = known.duplicate_of
        yield "copy of", f"{copy.url} ({copy.kind}, distance {copy.distance})"
    for number, copy in enumerate(known.copies):
        yield "copies" if number == 0 else "", f"{copy.url} ({copy.kind}, distance {copy.distance})"
