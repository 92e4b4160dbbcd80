"""What `crivello` says when something is wrong: one line, the right exit code, nothing left."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

SEED = "http://127.0.0.1:9/"  # nothing listens on the discard port


def crivello(
    *arguments: str | Path, cwd: Path, wrap: Sequence[str] = (), **environ: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *wrap,
            sys.executable,
            "-c",
            "from crivello.cli import main; main()",
            *map(str, arguments),
        ],
        cwd=cwd,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def refused(done: subprocess.CompletedProcess[str], *told: str, code: int = 2) -> None:
    assert done.returncode == code, done
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("crivello: ")
    assert "Traceback" not in done.stderr
    for part in told:
        assert part in lines[0]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["crawl", SEED], ["-o DIR"]),
        (["crawl", "-o", "new"], ["at least one seed"]),
        (["crawl", "ftp://x.example/", "-o", "new"], ["ftp://x.example/"]),
        (["crawl", "http://", "-o", "new"], ["http://"]),
        (["crawl", "https://example.org/", "-o", "new"], ["example.org", "--contact"]),
        (["crawl", SEED, "-o", "new", "--delay", "soon"], ["--delay = 'soon'", "seconds"]),
        (["crawl", SEED, "-o", "new", "--delay=-1"], ["--delay = '-1'", "≥ 0"]),
        (["crawl", SEED, "-o", "new", "--memory", "1MiB"], ["--memory", "at least 256MiB"]),
        (["crawl", SEED, "-o", "new", "--scope", "planet"], ["--scope", "page, prefix, host"]),
        (["crawl", SEED, "-o", "new", "--max-pages", "0"], ["--max-pages", "≥ 1"]),
        (["crawl", SEED, "-o", "new", "--max-time", "x"], ["--max-time", '"10m"']),
        (["crawl", SEED, "-o", "new", "--sieve", "sock"], ["--sieve", "mercator or memory"]),
        (["crawl", SEED, "-o", "new", "--store", "gold"], ["--store", "warc, pages, links"]),
        (["crawl", SEED, "-o", "new", "--follow", "b"], ["--follow", "meta-refresh"]),
        (["crawl", SEED, "-o", "new", "--resolve", "x"], ["--resolve", "PATTERN=ADDRESS"]),
        (["crawl", SEED, "-o", "new", "--contact", "me"], ["--contact", "mail address"]),
        (["crawl", SEED, "-o", "new", "--seeds", "none.txt"], ["none.txt", "No such file"]),
        (["crawl", SEED, "-o", "new", "--config", "none.toml"], ["none.toml", "No such file"]),
        (["crawl", SEED, "-o", "far/away/new"], ["far/away"]),
        (["crawl", SEED, "-o", "full"], ["full", "not empty", "not a crawl"]),
        (["crawl", SEED, "-o", "file"], ["file"]),
        (["crawl", SEED, "-o", "new", "--dely", "1"], ["--dely", "crivello crawl --help"]),
        (["status", "none"], ["none"]),
        (["status", "full"], ["full", "is not a crawl"]),
        (["sql", "full", "select 1"], ["full", "is not a crawl"]),
        (["sql", "none", "select 1"], ["none", "no such directory"]),
        (["export", "full", "out.jsonl"], ["full", "is not a crawl"]),
        (["export", "full", "out", "--to", "xml"], ["xml", "jsonl, parquet"]),
        (["crwl"], ["crwl"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_usage_is_one_line_and_leaves_nothing(tmp_path, arguments, told):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/diary.txt").touch()
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    refused(crivello(*arguments, cwd=tmp_path), *told)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[politeness]\ndelai = 1\n", ["conf.toml", "politeness.delai", "politeness.delay"]),
        ("[politeness]\ndelay = 'x'\n", ["conf.toml", "politeness.delay = 'x'", "seconds"]),
        ("[politeness\n", ["conf.toml", "is not TOML"]),
    ],
)
def test_a_wrong_settings_file_is_named_with_its_key(tmp_path, text, told):
    (tmp_path / "conf.toml").write_text(text, "utf-8")
    done = crivello("crawl", SEED, "-o", "new", "--config", "conf.toml", cwd=tmp_path)
    refused(done, *told)
    assert not (tmp_path / "new").exists()


def test_a_wrong_variable_is_named(tmp_path):
    done = crivello("crawl", SEED, "-o", "new", cwd=tmp_path, CRIVELLO_POLITENESS_DELAI="1")
    refused(done, "CRIVELLO_POLITENESS_DELAI", "politeness.delay")


def test_a_bad_line_of_a_seed_file_is_a_warning_with_its_number(tmp_path):
    (tmp_path / "seeds.txt").write_text(f"# mine\nhttp://\n\n{SEED}\n", "utf-8")
    options = ["--delay", "0", "--max-time", "10", "--config", "quick.toml"]
    (tmp_path / "quick.toml").write_text("[fetch]\nretries = 0\n", "utf-8")
    done = crivello("crawl", "--seeds", "seeds.txt", "-o", "new", *options, cwd=tmp_path)
    assert "crivello: warning: seeds.txt:2: " in done.stderr
    assert done.returncode == 1
    assert "no page could be fetched" in done.stderr
    assert "crivello why new URL" in done.stderr
    assert "crivello sql" not in done.stdout
    assert (tmp_path / "new/crivello.toml").exists()
    cold = crivello("crawl", "-o", "new", "--sieve", "memory", cwd=tmp_path)
    refused(cold, "sieve.kind", "cannot change")
    asked = crivello("sql", "new", "select state from urls_state", "--csv", cwd=tmp_path)
    assert asked.stdout == "state\nfailed\n"
    state = crivello("status", "new", cwd=tmp_path)
    assert state.returncode == 0
    assert "failures    host-dead 1" in state.stdout


MORTAL = "-dac_override,-dac_read_search"  # what makes root's permissions those of others


def test_a_directory_that_may_not_be_written_is_one_line(tmp_path):
    wrap = ["setpriv", f"--bounding-set={MORTAL}", f"--inh-caps={MORTAL}"]
    if os.geteuid() != 0:
        wrap = []
    elif shutil.which("setpriv") is None:
        pytest.skip("root may write anywhere")
    (tmp_path / "shut").mkdir(mode=0o500)
    done = crivello("crawl", SEED, "-o", "shut/new", cwd=tmp_path, wrap=wrap)
    refused(done, "shut", "Permission denied")


@pytest.mark.parametrize("command", ["", "crawl", "status", "serve", "sql", "export", "simweb"])
def test_help_says_how(tmp_path, command):
    done = crivello(*command.split(), "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "Usage: " in done.stdout
    if command:
        assert "Examples:" in done.stdout
        assert f"crivello {command} " in done.stdout


@pytest.mark.parametrize("arguments", [[], ["--debug"]])
def test_the_command_alone_shows_its_help_as_it_is_set(tmp_path, arguments):
    done = crivello(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == crivello("--help", cwd=tmp_path).stdout


def test_the_version_is_one_line(tmp_path):
    assert crivello("--version", cwd=tmp_path).stdout.startswith("crivello 0.")


def test_debug_shows_where(tmp_path):
    done = crivello("status", "none", "--debug", cwd=tmp_path)
    assert "Traceback" in done.stderr
