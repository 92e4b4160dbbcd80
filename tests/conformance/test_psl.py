"""The public suffix list's own cases, and crawler-commons'."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crivello.url import domain, normalise, split

DATA = json.loads((Path(__file__).parents[1] / "data" / "psl" / "cases.json").read_text("utf-8"))
CASES = [
    (case["host"], case["registrable_domain"])
    for section in DATA.values()
    for case in section
    if case["host"]
]


def ascii_form(host: str) -> str:
    return split(normalise(f"http://{host}/")).host


@pytest.mark.parametrize(("host", "expected"), CASES)
def test_registrable_domains_follow_the_list(host, expected):
    if host.startswith("."):
        assert expected is None  # not a host name: no link that is followed has it
        return
    name = ascii_form(host)
    # A public suffix, or what is not under one, is its own domain.
    assert domain(name) == (ascii_form(expected) if expected else name)


def test_the_suite_is_there():
    assert len(CASES) > 90
