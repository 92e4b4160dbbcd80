"""Pages leave a crawl as text, as Markdown, and as an archive of their own."""

from __future__ import annotations

import json

import pytest
from commands import Command, asked
from fastwarc.warc import ArchiveIterator as FastIterator
from small_web import Answer, SmallWeb, page
from warcio.archiveiterator import ArchiveIterator

from crivello.store.export_pages import file_name

GUIDE = """<!DOCTYPE html><html lang="en"><title>The "Guide": part 1</title>
<h1>Guide</h1><p>Sieves are <em>useful</em>; see <a href="/docs/sieve">the page</a>.
<ul><li>one<li>two</ul><pre class="language-sh">make demo</pre>"""


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    directory = tmp_path_factory.mktemp("crawled")
    answers = {
        "/": page("Home", "/docs/", "/docs/sieve", "/docs/?a=1&b=/x", "/gone", "/pic", "/index"),
        "/docs/": Answer(GUIDE.encode()),
        "/docs/sieve": Answer("Grüße".encode("latin-1"), headers={"Content-Type": "text/html"}),
        "/docs/?a=1&b=/x": page("Query"),
        "/index": page("Another index"),
        "/pic": Answer(b"\x89PNG\r\n\x1a\n", headers={"Content-Type": "image/png"}),
    }
    with SmallWeb(answers) as web:
        command = Command(directory)
        done = command("crawl", f"{web.root}/", "-o", "crawl", "--delay", "0")
        assert done.returncode == 0, done
        yield command, directory, f"127.0.0.1_{web.port}", web.root


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_text_is_a_file_a_page_with_an_index_of_what_they_are(crawled):
    command, directory, host, root = crawled
    assert command("export", "crawl", "--to", "text", "text").returncode == 0
    index = [json.loads(line) for line in (directory / "text/index.jsonl").open()]
    assert files(directory / "text") == {row["file"] for row in index} | {"index.jsonl"}
    by_url = {row["url"].removeprefix(root): row for row in index}
    assert set(by_url) == {"/", "/docs/", "/docs/sieve", "/docs/?a=1&b=/x", "/index"}
    assert by_url["/docs/"]["file"] == f"{host}/docs/index.txt"
    assert len({row["file"] for row in index}) == 5
    texts = asked(directory / "crawl", "select url, text from pages where text_len > 0")
    for row in texts.to_pylist():
        if (known := by_url.get(row["url"].removeprefix(root))) is not None:
            assert (directory / "text" / known["file"]).read_text("utf-8") == row["text"] + "\n"


def test_markdown_comes_from_the_archive_behind_its_facts(crawled):
    command, directory, host, root = crawled
    assert command("export", "crawl", "--to", "markdown", "md").returncode == 0
    guide = (directory / "md" / host / "docs/index.md").read_text("utf-8")
    facts, _, text = guide.removeprefix("---\n").partition("---\n\n")
    assert text == (
        f"# Guide\n\nSieves are *useful*; see [the page]({root}/docs/sieve).\n\n"
        "- one\n- two\n\n```sh\nmake demo\n```\n"
    )
    lines = dict(line.split(": ", 1) for line in facts.splitlines())
    assert json.loads(lines["title"]) == 'The "Guide": part 1'
    assert json.loads(lines["url"]) == f"{root}/docs/"
    assert lines["lang"] == '"en"'
    assert lines["fetched_at"].endswith("Z")
    assert (directory / "md" / host / "docs/sieve.md").read_text("utf-8").endswith("Grüße\n")


def test_a_warc_holds_the_records_byte_for_byte(crawled):
    command, directory, _, _ = crawled
    assert command("export", "crawl", "--to", "warc", "all.warc.gz").returncode == 0
    data = (directory / "all.warc.gz").read_bytes()
    rows = asked(directory / "crawl", "select * from pages where warc_file is not null")
    for row in rows.to_pylist():
        with (directory / "crawl/agents/0/warc" / row["warc_file"]).open("rb") as file:
            file.seek(row["warc_offset"])
            assert file.read(row["warc_length"]) in data
    with (directory / "all.warc.gz").open("rb") as stream:
        found = []
        for record in ArchiveIterator(stream, check_digests="raise"):
            record.content_stream().read()
            found.append((record.rec_type, record.rec_headers.get_header("WARC-Target-URI")))
    assert found[0][0] == "warcinfo"
    assert sorted(url for _, url in found[1:]) == sorted(rows["url"].to_pylist())
    fast = FastIterator((directory / "all.warc.gz").open("rb"))
    assert sum(1 for _ in fast) == len(found)
    done = command("export", "crawl", "--to", "warc", "part.warc.gz", "--where", "status = 404")
    assert "part.warc.gz: 1 records" in done.stderr
    assert command("import", "again", "all.warc.gz").returncode == 0
    again = asked(directory / "again", "select url, payload_digest, title from pages order by 1")
    assert again.equals(
        asked(directory / "crawl", "select url, payload_digest, title from pages order by 1")
    )


def test_where_and_host_choose_pages(crawled):
    command, directory, _, _ = crawled
    assert (
        command("export", "crawl", "--to", "text", "q", "--where", "title = 'Query'").returncode
        == 0
    )
    assert len(files(directory / "q")) == 2
    assert command("export", "crawl", "--to", "text", "h", "--host", "127.0.0.1").returncode == 0
    assert len(files(directory / "h")) == 6
    assert command("export", "crawl", "--to", "text", "n", "--host", "other.test").returncode == 0
    assert files(directory / "n") == {"index.jsonl"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--to", "text", "out", "--where", "nonsense ="], "sql: "),
        (["--to", "text", "out", "--table", "links"], "leave out --table"),
        (["--to", "jsonl", "out", "--host", "h"], "leave out --where and --host"),
        (["--to", "markdown", "."], "is a directory that exists"),
        (["--to", "warc", "absent/out.warc.gz"], "cannot be written"),
        (["--to", "pdf", "out"], "the formats are"),
    ],
)
def test_an_export_that_cannot_be_is_one_line_and_leaves_nothing(crawled, arguments, told):
    command, directory, _, _ = crawled
    before = files(directory)
    assert told in command.refuses("export", "crawl", *arguments)
    assert files(directory) == before


def test_names_of_files_are_safe_and_told_apart():
    paths = ["", "index?", "a", "a.md/b", "a/b", "?q=../../x", "?q=../../y", "%2e%2e/x", "a//b"]
    paths += [".hidden", "x" * 3000, "x" * 3000 + "y", "/".join(["d"] * 900)]
    names = [file_name(f"http://h.test/{path}", ".md") for path in paths]
    assert all(".." not in name.parts and not name.is_absolute() for name in names)
    assert all(len(part) < 200 for name in names for part in name.parts)
    assert all(len(str(name)) < 2500 for name in names)
    folders = {parent for name in names for parent in name.parents}
    assert not folders & set(names)
