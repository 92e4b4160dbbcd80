"""One page and its bytes (`get`), and what became of a URL (`why`)."""

from __future__ import annotations

import gzip
import json
import shutil

import pytest
from commands import Command
from fastwarc.warc import ArchiveIterator as FastIterator
from small_web import HTML, Answer, SmallWeb, moved, page

import crivello

ROBOTS = b"# of the test\nUser-agent: *\nDisallow: /private/\n"
HOME = page(
    "Home", "/a", "/private/x", "/gone", "/moved", "http://elsewhere.test/", "/packed",
    extra='<a rel="nofollow" href="/shy">shy</a><img src="/picture.png">',
)  # fmt: skip
COPY = Answer(b"<title>c</title><p>" + b"the very same words as over there " * 9)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """A crawl of a small web: (command, its directory, its root)."""
    answers = {
        "/robots.txt": Answer(ROBOTS, headers={"Content-Type": "text/plain"}),
        "/": HOME,
        "/a": page("A", "/b"),
        "/b": COPY,
        "/twin": COPY,
        "/moved": moved("/twin"),
        "/packed": Answer(
            gzip.compress("<title>Packed</title>Grüße".encode()),
            headers={"Content-Type": HTML, "Content-Encoding": "gzip"},
        ),
    }
    directory = tmp_path_factory.mktemp("crawled")
    with SmallWeb(answers) as web:
        command = Command(directory)
        done = command("crawl", f"{web.root}/", "-o", "crawl", "--delay", "0")
        assert done.returncode == 0, done
        yield command, directory / "crawl", web.root


def told(crawled, path):
    command, directory, root = crawled
    done = command("why", directory, root + path, "--json")
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def test_get_shows_the_facts_of_a_page_and_its_bytes(crawled):
    command, directory, root = crawled
    shown = command("get", directory, f"{root.upper().replace('HTTP', 'http')}/#top").stdout
    assert f"url         {root}/" in shown
    assert "status      200" in shown
    assert "title       Home" in shown
    assert command("get", directory, f"{root}/", "--body").stdout.encode() == HOME.body
    assert "All about Home." in command("get", directory, f"{root}/", "--text").stdout
    headers = command("get", directory, f"{root}/", "--headers").stdout
    assert headers.startswith("HTTP/1.1 200 OK")
    record = command("get", directory, f"{root}/", "--record").stdout
    assert record.startswith("WARC/1.1")
    assert f"WARC-Target-URI: {root}/" in record
    facts = json.loads(command("get", directory, f"{root}/", "--json").stdout)
    assert (facts["url"], facts["status"], facts["title"]) == (f"{root}/", 200, "Home")


def test_an_archive_of_zstd_is_read_and_exported_as_one_of_gzip(crawled, tmp_path):
    command, directory, root = crawled
    other = tmp_path / "zstd"
    assert command("export", directory, tmp_path / "a.warc.gz", "--to", "warc").returncode == 0
    archive = tmp_path / "a.warc.gz"
    assert command("import", other, archive).returncode == 0
    facts = other / "crivello.toml"
    as_gzip = facts.read_text()
    assert 'warc_compression = "gzip"' in as_gzip
    shutil.rmtree(other)
    other.mkdir()
    facts.write_text(as_gzip.replace('warc_compression = "gzip"', 'warc_compression = "zstd"'))
    assert command("import", other, archive).returncode == 0
    assert {path.suffix for path in other.glob("agents/0/warc/*.warc.*")} == {".zst"}
    url = f"{root}/"
    record = command("get", other, url, "--record").stdout
    assert record.startswith("WARC/1.1\n")
    assert f"WARC-Target-URI: {url}\n" in record
    assert command("get", other, url, "--body").stdout.encode() == HOME.body
    refused = command("export", other, tmp_path / "b.warc.gz", "--to", "warc")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "ends in .warc.zst" in refused.stderr
    exported = tmp_path / "b.warc.zst"
    assert command("export", other, exported, "--to", "warc").returncode == 0
    assert exported.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    read = FastIterator(exported.open("rb"))
    assert url in {record.headers.get("WARC-Target-URI") for record in read}


def test_get_takes_the_content_coding_off(crawled):
    command, directory, root = crawled
    body = command("get", directory, f"{root}/packed", "--body").stdout
    assert body == "<title>Packed</title>Grüße"


def test_get_says_what_happened_to_a_page_that_is_none(crawled):
    command, directory, root = crawled
    assert f"moved to {root}/twin" in command("get", directory, f"{root}/moved").stdout
    assert "status      404" in command("get", directory, f"{root}/gone").stdout
    assert "none: robots" in command("get", directory, f"{root}/private/x").stdout
    line = command.refuses("get", directory, f"{root}/private/x", "--body", code=1)
    assert "has no archive record" in line
    line = command.refuses("get", directory, f"{root}/nowhere", code=1)
    assert "holds no page of" in line
    assert "mailto" in command.refuses("get", directory, "mailto:x@y.z", code=2)
    assert "choose one" in command.refuses("get", directory, f"{root}/", "--body", "--text")


def test_why_tells_the_way_from_the_seed(crawled):
    _, _, root = crawled
    known = told(crawled, "/b")
    assert known["state"] == "stored"
    steps = [
        (step["url"].removeprefix(root), step["depth"], step["link"]) for step in known["chain"]
    ]
    assert steps == [("/", 0, "seed"), ("/a", 1, "a"), ("/b", 2, "a")]
    assert known["page"]["warc_length"] > 0
    assert known["robots"]["allowed"] is True
    assert [step["link"] for step in told(crawled, "/twin")["chain"]] == ["seed", "a", "redirect"]


def test_why_names_the_line_of_robots_txt_that_forbids(crawled):
    _, _, root = crawled
    known = told(crawled, "/private/x")
    assert known["state"] == "denied"
    assert known["robots"]["robots"] == f"{root}/robots.txt"
    assert (known["robots"]["line"], known["robots"]["text"]) == (3, "Disallow: /private/")
    never = told(crawled, "/private/unlinked")
    assert never["state"] == "never seen"
    assert "line 3" in never["reason"]


def test_why_knows_failures_redirects_and_copies(crawled):
    assert (told(crawled, "/gone")["state"], told(crawled, "/moved")["state"]) == (
        "failed",
        "redirect",
    )
    twins = {told(crawled, path)["url"]: told(crawled, path) for path in ("/b", "/twin")}
    copies = [known for known in twins.values() if known["duplicate_of"]]
    assert len(copies) == 1
    original = twins[copies[0]["duplicate_of"]["url"]]
    assert copies[0]["duplicate_of"]["kind"] == "exact"
    assert [copy["url"] for copy in original["copies"]] == [copies[0]["url"]]


def test_why_says_which_links_were_not_followed_and_for_what_reason(crawled):
    _, directory, root = crawled
    assert told(crawled, "/shy")["state"] == "refused"
    assert "nofollow" in told(crawled, "/shy")["reason"]
    assert "kind img" in told(crawled, "/picture.png")["reason"]
    known = crivello.open(directory).why("http://elsewhere.test/")
    assert (known.state, known.in_scope) == ("refused", False)
    assert [link.page for link in known.linked_from] == [f"{root}/"]
    assert "outside the scope (host)" in known.reason
    assert told(crawled, "/unheard-of")["reason"].startswith("in scope, but no page")


def test_why_reads_well(crawled):
    command, directory, root = crawled
    shown = command("why", directory, f"{root}/private/x").stdout
    assert "state       denied: robots.txt forbids it: line 3" in shown
    assert f"found by    {root}/ (seed, depth 0)" in shown
    assert "archive" in command("why", directory, f"{root}/").stdout
    assert "is not a crawl" in command.refuses("why", "nowhere", f"{root}/")
