"""What goes wrong on a crawl that exists, or from outside: one line, the right exit code."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from commands import COMMAND, Command, column, until
from small_web import SmallWeb, page

import crivello
from crivello.cli import main
from crivello.simweb import SimWeb

NOWHERE = "http://127.0.0.1:9/"  # nothing listens on the discard port
STATUS = {
    "state", "urls_known", "urls_queued", "pages_stored", "pages_per_s", "failures", "duplicates",
    "hosts", "memory_bytes", "checkpoint_at",
}  # fmt: skip


@pytest.fixture
def site():
    names = [f"{number}.html" for number in range(1, 6)]
    with SmallWeb({"/": page("front", *names)} | {f"/{n}": page(n) for n in names}) as web:
        yield web


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A directory with a finished crawl of six pages in `crawl`."""
    directory = tmp_path_factory.mktemp("made")
    names = [f"{number}.html" for number in range(1, 6)]
    with SmallWeb({"/": page("front", *names)} | {f"/{n}": page(n) for n in names}) as web:
        crivello.Crawl(directory / "crawl", seeds=[web.root], delay=0).run()
    return directory


@pytest.fixture
def copied(made, tmp_path):
    """A copy of it that may be spoilt."""
    shutil.copytree(made / "crawl", tmp_path / "crawl")
    return tmp_path / "crawl"


@pytest.fixture
def hasty(tmp_path):
    """Settings that give a host up at the first failure, as a file."""
    path = tmp_path / "hasty.toml"
    path.write_text("[politeness]\ndelay = 0\n[fetch]\ndead_after = 1\n", "utf-8")
    return path


def stored(directory) -> list[str]:
    return column(directory, "select url from pages where status = 200 order by 1")


# --- seeds ---------------------------------------------------------------------------------


def test_bad_lines_of_a_seed_file_are_told_with_their_number_and_the_others_crawled(
    command, site, tmp_path
):
    lines = ["# ours", "", "http://", "  " + site.root + "/1.html  ", "mailto:me", "no url",
             f"{site.root}/2.html", "http://[::1", f"{site.root}/1.html#again"]  # fmt: skip
    (tmp_path / "seeds.txt").write_text("\n".join(lines), "utf-8")
    done = command("crawl", "--seeds", "seeds.txt", "-o", "new", "--delay", "0", "--scope", "page")
    assert done.returncode == 0, done
    told = [line for line in done.stderr.splitlines() if "warning" in line]
    assert [line.split(": ")[2] for line in told] == [f"seeds.txt:{n}" for n in (3, 5, 6, 8)]
    assert stored(tmp_path / "new") == [f"{site.root}/1.html", f"{site.root}/2.html"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_seed_file_may_come_from_any_editor_and_hold_comments(command, site, tmp_path, encoding):
    lines = [f"{site.root}/1.html\t# first", f"{site.root}/2.html#part", "# none", "http://"]
    (tmp_path / "seeds.txt").write_bytes("\r\n".join(lines).encode(encoding))
    done = command("crawl", "--seeds", "seeds.txt", "-o", "new", "--delay", "0", "--scope", "page")
    assert done.returncode == 0, done
    assert "warning: seeds.txt:4: left out: " in done.stderr
    assert stored(tmp_path / "new") == [f"{site.root}/1.html", f"{site.root}/2.html"]


def test_a_file_that_holds_no_seeds_at_all_is_not_told_line_by_line(command, tmp_path):
    (tmp_path / "seeds.txt").write_bytes(b"\xf0\x01 no\n" * 1000)
    done = command("crawl", "--seeds", "seeds.txt", "-o", "new")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 22
    assert "980 further lines" in done.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("content", [b"", b"# nothing\n\n", b"http://\n", b"\xff\xfe\x00h\x00\n"])
def test_a_seed_file_without_a_url_is_refused(command, tmp_path, content):
    (tmp_path / "seeds.txt").write_bytes(content)
    done = command("crawl", "--seeds", "seeds.txt", "-o", "new")
    assert (done.returncode, done.stdout) == (2, "")
    assert "seeds.txt: holds no URL" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_seed_file_that_is_a_directory_is_refused(command, tmp_path):
    (tmp_path / "seeds").mkdir()
    assert "seeds: " in command.refuses("crawl", "--seeds", "seeds", "-o", "new")
    assert not (tmp_path / "new").exists()


def test_a_crawl_of_which_no_seed_can_be_fetched_is_an_error(command, hasty):
    done = command("crawl", NOWHERE, "-o", "new", "--config", hasty, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["failures"] == {"host-dead": 1}
    assert "no page could be fetched" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    asked = command("status", "new", "--json")
    assert json.loads(asked.stdout)["state"] == "finished"


def test_one_seed_that_can_be_fetched_is_enough(command, site, hasty, tmp_path):
    done = command("crawl", NOWHERE, site.root, "-o", "new", "--config", hasty)
    assert done.returncode == 0, done
    assert len(stored(tmp_path / "new")) == 6


# --- places ---------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["file/new", "/proc/new", "link/new"])
def test_a_place_where_nothing_can_be_made_is_named(command, tmp_path, place):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("link")
    before = sorted(tmp_path.rglob("*"))
    told = command.refuses("crawl", NOWHERE, "-o", place)
    assert place.rpartition("/")[0] in told
    assert sorted(tmp_path.rglob("*")) == before


def test_a_port_in_use_is_named_with_a_way_out(command):
    with SimWeb(hosts=1, pages=1) as web:
        options = ["--hosts", "1", "--pages", "1"]
        told = command.refuses("simweb", *options, "--port", str(web.port), code=1)
        assert str(web.port) in told
        assert "give another port" in told


@pytest.mark.parametrize(
    ("options", "told", "code"),
    [
        (["--hosts", "5", "--pages", "1"], "pages >= hosts", 2),
        (["--hosts", "0"], "--hosts", 2),
        (["--profile", "tame"], "--profile", 2),
        (["--hosts", "1", "--pages", "1", "--truth", "no/truth.parquet"], "no/truth.parquet", 1),
        (["--hosts", "1", "--pages", "1", "--log", "no/log"], "no/log", 1),
    ],
    ids=str,
)
def test_a_simulated_web_that_cannot_be_is_refused(command, tmp_path, options, told, code):
    assert told in command.refuses("simweb", *options, code=code)
    assert list(tmp_path.iterdir()) == []


# --- running --------------------------------------------------------------------------------


@pytest.fixture
def running(command, site):
    """A crawl that has asked for a robots.txt and waits a minute before its first page."""
    process = command.start("crawl", site.root, "-o", "crawl", "--delay", "60",
                            "--checkpoint-every", "0.1")  # fmt: skip
    try:
        until(lambda: site.paths, "the crawl asks for the robots.txt")
        until(lambda: command("status", "crawl").returncode == 0, "it has a status")
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_second_process_is_refused_and_says_who_is_there(command, running):
    before = Path(command.directory, "crawl/crivello.toml").read_bytes()
    told = command.refuses("crawl", "-o", "crawl", "--delay", "0", NOWHERE, code=1)
    assert f"process {running.pid} " in told
    assert Path(command.directory, "crawl/crivello.toml").read_bytes() == before
    assert running.poll() is None
    assert json.loads(command("status", "crawl", "--json").stdout)["state"] == "running"
    assert command("sql", "crawl", "select count(*) as n from pages", "--json").returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_crawl_that_is_interrupted_goes_on_where_it_was(command, running, site, tmp_path, number):
    running.send_signal(number)
    out, err = running.communicate(timeout=30)
    assert running.returncode == 3, err
    assert "Traceback" not in err
    assert "goes on" in out
    status = json.loads(command("status", "crawl", "--json").stdout)
    assert status["state"] == "interrupted"
    assert status["urls_known"] == 1
    config = tmp_path / "crawl/crivello.toml"
    assert config.exists()


def test_after_a_stop_in_the_middle_every_page_is_there_once(command, site, tmp_path):
    process = command.start("crawl", site.root, "-o", "crawl", "--delay", "0.3")
    try:
        until(lambda: "/1.html" in site.paths, "the second page is asked for")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        assert process.returncode == 3
    finally:
        process.kill()
        process.communicate()
    done = command("crawl", "-o", "crawl", "--delay", "0")
    assert done.returncode == 0, done
    assert "politeness.delay is now 0" in done.stderr
    assert len(stored(tmp_path / "crawl")) == 6
    assert column(tmp_path / "crawl", "select count(*), count(distinct url) from pages") == [6]
    assert column(tmp_path / "crawl", "select count(distinct url) from pages") == [6]


def test_a_process_that_dies_leaves_an_interrupted_crawl(command, running):
    running.kill()
    running.communicate()
    assert json.loads(command("status", "crawl", "--json").stdout)["state"] == "interrupted"


# --- a crawl that exists ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--sieve", "memory"], "sieve.kind"),
        (["--frontier", "memory"], "frontier.kind"),
        (["--store", "none"], "store.keep"),
        (["--delay", "soon"], "--delay"),
        (["http://"], "http://"),
        (["--config", "none.toml"], "none.toml"),
    ],
)
def test_what_cannot_change_is_refused_and_nothing_is_written(command, copied, options, told):
    before = (copied / "crivello.toml").read_bytes()
    assert told in command.refuses("crawl", "-o", "crawl", *options)
    assert (copied / "crivello.toml").read_bytes() == before


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[politeness]\ndelay = -1\n", "politeness.delay = -1"),
        ("[politness]\ndelay = 1\n", "politness"),
        ("[politeness", "is not TOML"),
    ],
)
def test_settings_spoilt_by_hand_are_named(command, copied, text, told):
    (copied / "crivello.toml").write_text(text, "utf-8")
    line = command.refuses("crawl", "-o", "crawl")
    assert told in line
    assert "crawl/crivello.toml" in line


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            'kind = "mercator"',
            'kind = "memory"',
            'sieve.kind cannot change once a crawl is made: put "mercator" back',
        ),
        ('kind = "disk"', 'kind = "memory"', 'frontier.kind cannot change'),
        ("k = 3", "k = 2", "near.k cannot change once a crawl is made: put 3 back"),
    ],
)  # fmt: skip
def test_a_fixed_setting_that_was_edited_by_hand_is_refused(command, copied, before, after, told):
    path = copied / "crivello.toml"
    text = path.read_text("utf-8")
    assert f"\n{before}\n" in text
    path.write_text(text.replace(f"\n{before}\n", f"\n{after}\n"), "utf-8")
    done = command("crawl", "-o", "crawl")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"crivello.toml: {told}" in done.stderr.splitlines()[-1]


def test_a_budget_beyond_the_machine_is_refused(command, tmp_path):
    told = command.refuses("crawl", NOWHERE, "-o", "new", "--memory", "900TiB")
    assert "this machine has" in told
    assert list(tmp_path.iterdir()) == []


def test_a_time_beyond_all_clocks_is_refused(command, tmp_path):
    assert "--delay = '1e300'" in command.refuses("crawl", NOWHERE, "-o", "n", "--delay", "1e300")
    assert list(tmp_path.iterdir()) == []


def test_rows_that_are_gone_are_missed_by_readers(command, copied):
    [sealed] = (copied / "tables/pages").glob("*.parquet")
    sealed.rename(copied / "elsewhere")
    assert sealed.name in command.refuses("sql", "crawl", "select count(*) from pages", code=1)
    (copied / "elsewhere").rename(sealed)
    (copied / "agents/0/checkpoint.json").unlink()
    told = command.refuses("sql", "crawl", "select count(*) from pages", code=1)
    assert "checkpoint.json" in told


def test_a_damaged_checkpoint_is_named(command, copied):
    (copied / "agents/0/checkpoint.json").write_text('{"version": 1,', "utf-8")
    assert "checkpoint.json" in command.refuses("sql", "crawl", "select 1 from pages", code=1)
    done = command("crawl", "-o", "crawl")
    assert (done.returncode, done.stdout) == (1, "")
    assert "checkpoint.json: is damaged" in done.stderr.splitlines()[-1]


def test_a_status_has_its_keys(made):
    done = Command(made)("status", "crawl", "--json")
    status = json.loads(done.stdout)
    assert status.keys() >= STATUS
    assert (status["state"], status["pages_stored"], status["urls_queued"]) == ("finished", 6, 0)
    assert status["duplicates"].keys() == {"exact", "near"}
    assert status["memory_bytes"] > 1 << 20
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("selec 1", "syntax"),
        ("select urll from pages", "urll"),
        ("select * from pagess", "pagess"),
        ("select 1; select 2", "one query"),
        ("drop table pages", "read-only"),
        ("copy pages to 'out.csv'", "read-only"),
        ("", "one query"),
    ],
)
def test_a_bad_query_is_one_line(made, query, told):
    assert told in Command(made).refuses("sql", "crawl", query)
    assert sorted(path.name for path in made.iterdir()) == ["crawl"]


def test_a_query_reads_no_file_but_the_tables(made):
    query = "select * from read_csv('/etc/passwd')"
    assert "disabled" in Command(made).refuses("sql", "crawl", query, code=1)


def test_answers_are_json_lines(made):
    query = "select url, url_hash, status, fetched_at, title from pages order by url limit 2"
    done = Command(made)("sql", "crawl", query, "--json")
    first, second = map(json.loads, done.stdout.splitlines())
    assert first.keys() == {"url", "url_hash", "status", "fetched_at", "title"}
    assert (first["status"], first["title"], second["title"]) == (200, "front", "1.html")
    assert first["url_hash"] == f"{crivello.url.url_hash(first['url']):016x}"


def test_a_reader_that_has_seen_enough_is_no_error(made):
    query = "select url from pages, range(200000)"
    with subprocess.Popen(
        [COMMAND, "sql", "crawl", query, "--csv"], cwd=made,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == b"url\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 0


def test_ctrl_c_ends_any_command_with_one_line_and_3(made, monkeypatch, capsys):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("crivello.store.reader.Snapshot.open", interrupted)
    with pytest.raises(SystemExit) as ending:
        main(["sql", str(made / "crawl"), "select 1"])
    assert ending.value.code == 3
    assert capsys.readouterr() == ("", "crivello: interrupted\n")


@pytest.mark.parametrize("table", ["pages", "links", "robots"])
def test_an_export_holds_the_table(made, tmp_path, table):
    command = Command(tmp_path)
    expected = crivello.open(made / "crawl").sql(f"select * from {table}").to_arrow().to_pylist()
    for form in ("jsonl", "parquet"):
        options = ["--to", form, "--table", table]
        done = command("export", made / "crawl", f"{table}.{form}", *options)
        assert done.returncode == 0, done
        assert f"{len(expected):,} rows of {table}" in done.stderr
    rows = pq.read_table(tmp_path / f"{table}.parquet").to_pylist()
    key = json.dumps
    assert sorted(rows, key=lambda row: key(row, default=str)) == sorted(
        expected, key=lambda row: key(row, default=str)
    )
    lines = [json.loads(line) for line in (tmp_path / f"{table}.jsonl").open(encoding="utf-8")]
    name = {"pages": "url", "links": "dst_url", "robots": "host"}[table]
    assert sorted(row[name] for row in lines) == sorted(row[name] for row in expected)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("arguments", "told", "code"),
    [
        (["taken.jsonl"], "exists", 2),
        (["no/out.jsonl"], "no/out.jsonl", 2),
        (["out.jsonl", "--table", "pagess"], "pagess", 1),
        (["out.jsonl", "--columns", "url,urll"], "urll", 2),
    ],
    ids=str,
)
def test_an_export_that_cannot_be_leaves_nothing(made, command, tmp_path, arguments, told, code):
    (tmp_path / "taken.jsonl").write_text("mine", "utf-8")
    line = command.refuses("export", made / "crawl", *arguments, code=code)
    assert told in line
    assert [path.name for path in tmp_path.iterdir()] == ["taken.jsonl"]
    assert (tmp_path / "taken.jsonl").read_text("utf-8") == "mine"


def test_an_option_that_a_crawl_does_not_have_is_named_with_those_it_has(tmp_path):
    with pytest.raises(crivello.UsageError, match=r"'hosts'.*max_pages.*config=FILE"):
        crivello.Crawl(tmp_path / "new", seeds=["http://127.0.0.1:9/"], hosts=3)
    assert not (tmp_path / "new").exists()


def test_what_the_package_offers_can_be_completed():
    assert {"Crawl", "open", "import_warcs"} <= set(dir(crivello))
