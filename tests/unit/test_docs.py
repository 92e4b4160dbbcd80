"""The documentation is true: its links, paths, commands, settings, and what they show."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import console
import pytest

ROOT = Path(__file__).parents[2]
CHECK = ROOT / "scripts/check_docs.py"


def check(root):
    command = [sys.executable, str(CHECK), str(root)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_documentation_is_true():
    done = check(ROOT)
    assert done.stdout == ""
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[a](nowhere.md)", "the link leads nowhere: nowhere.md"),
        ("[a](#nothing)", "no heading of page.md is called #nothing"),
        ("`tests/nothing.py`", "there is no tests/nothing.py"),
        ("`tests/a.py::test_b`", "tests/a.py has no test_b"),
        ("`crivello crwl`", "crivello has no command 'crwl'"),
        ("`crivello crawl --dealy 1`", "crivello crawl has no option --dealy"),
        ("```sh\ncrivello simweb --pages many\n```", "a valid integer"),
        ("```console\n$ crivello sql \\\n  --limit 3\n```", "Missing argument"),
        ("```sh\nmake love\n```", "make has no verb 'love'"),
    ],
)
def test_what_is_not_true_is_named_with_its_line(tmp_path, text, told):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/a.py").write_text("def test_a(): ...\n", "utf-8")
    (tmp_path / "page.md").write_text(f"# A page\n\n[well](#a-page)\n\n{text}\n", "utf-8")
    done = check(tmp_path)
    assert done.returncode == 1
    named = [line for line in done.stdout.splitlines() if line.startswith("page.md:")]
    assert len(named) == 1
    assert re.match(r"page\.md:[56]: ", named[0])
    assert told in named[0]


def test_a_page_made_from_the_code_that_is_out_of_date_is_named(tmp_path):
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    settings = tmp_path / "docs/settings.md"
    settings.write_text(settings.read_text("utf-8").replace("| `delay` |", "| `sloth` |"), "utf-8")
    (tmp_path / "docs/reference/python/sieve.md").unlink()
    told = check(tmp_path).stdout.splitlines()
    told = [line for line in told if "is not what the code says" in line]
    assert [line.partition(":")[0] for line in told] == [
        "docs/settings.md",
        "docs/reference/python/sieve.md",
    ]


PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
         if any(console.steps(page.read_text("utf-8")))]  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_what_a_page_shows_is_what_happens(page, tmp_path):
    assert console.check_page(page, tmp_path) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("```console\n$ echo 12 pages in 0.5 s\n12 pages in 1.25 s\n```", None),
        ("```console\n$ echo 12 pages\n13 pages\n```", "12 pages"),
        ("```console\n$ false\n```", "ended with 1"),
        ("```console\n$ echo one \\\n  two; echo three >&2\none two\nthree\n```", None),
        ("```console\n$ echo one two three\none … three\n$ echo four\n```", "four"),
        ("```console\n$ x=5\n$ echo $x\n5\n```", None),
        ("```console\n$ (sleep 60; echo late) &\n$ kill $!\n```", None),
        ("```python\nprint(1)\n```\n\n```\n1\n```", None),
        ("```python\nprint(1)\n```\n\n```\n2\n```", "printed:\n1"),
        ("```python\nprint(1)\n```\n\nText.\n\n```\n1\n```", "printed:\n1"),
    ],
)
def test_a_page_that_shows_something_else_is_found_out(tmp_path, text, told):
    page = tmp_path / "page.md"
    page.write_text(f"# A page\n\n{text}\n", "utf-8")
    problems = console.check_page(page, tmp_path)
    assert (problems == []) if told is None else (told in problems[0])
