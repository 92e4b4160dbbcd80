"""What commands print on a terminal of 80 columns."""

from __future__ import annotations

import os
import pty
import subprocess

import pytest
from commands import COMMAND, QUICK

import crivello


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A crawl with one visit, which failed: nothing listens on the discard port."""
    root = tmp_path_factory.mktemp("terminal")
    (root / "quick.toml").write_text(QUICK)
    directory = root / "crawl"
    crivello.Crawl(
        directory, seeds=["http://127.0.0.1:9/"], delay=0, config=root / "quick.toml"
    ).run()
    return directory


def on_a_terminal(*arguments):
    """The lines that a command shows there."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "dumb"}
    with subprocess.Popen(
        [COMMAND, *map(str, arguments)], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while some := os.read(ours, 65536):
                shown += some
        except OSError:  # so Linux says that the other end was closed
            pass
        os.close(ours)
    assert process.returncode == 0, shown
    return shown.decode().splitlines()


def test_a_row_too_wide_for_a_table_stands_one_column_a_line(made):
    shown = on_a_terminal("sql", made, "select * from pages")
    facts = dict(line.split(maxsplit=1) for line in shown if line.split()[1:])
    assert facts["url"] == "http://127.0.0.1:9/"
    assert len(shown) == len(crivello.open(made).sql("select * from pages").columns)


def test_a_narrow_row_stands_in_a_table(made):
    shown = [line.split() for line in on_a_terminal("sql", made, "select url, depth from urls")]
    assert shown[0] == ["url", "depth"]
    assert shown[-1] == ["http://127.0.0.1:9/", "0"]


def test_a_long_value_is_cut_and_that_is_said(made):
    columns = ", ".join(f"{n} as a_long_name_{n}" for n in range(9))
    shown = on_a_terminal("sql", made, f"select repeat('x', 1000) as long, {columns}")
    assert "".join(shown).count("x") == 400
    assert "--json" in shown[-1]


def test_what_an_interactive_session_shows_says_what_it_is(made):
    crawl = crivello.open(made)
    assert repr(crawl) == f"Crawl({str(made)!r})"
    assert "(url, depth)" in repr(crawl.sql("select url, depth from urls"))
