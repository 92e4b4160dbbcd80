"""Pages across the border."""

from __future__ import annotations

import random

import pytest

from crivello._native import parse_page, simhash, text_digest, tokenise


def test_a_page_is_read() -> None:
    body = b"<title>T</title><meta charset=latin1><p>caff\xe8 <a href=x rel=nofollow>link</a>"
    page = parse_page(body, "text/html")
    assert (page.mime, page.charset, page.title) == ("text/html", "windows-1252", "T")
    assert page.text == "caffè link"
    [link] = page.links
    assert (link.href, link.kind, link.rel, link.anchor) == ("x", "a", "nofollow", "link")
    assert page.text_digest == text_digest(page.text)
    assert page.simhash == simhash(page.text)
    assert repr(page) == 'Page(text/html, "T", 1 links)'


def test_directives_for_a_product_token_are_seen_by_it_alone() -> None:
    body = b"<meta name=newsbot content=noindex>"
    assert parse_page(body, "text/html", "newsbot").noindex
    assert not parse_page(body, "text/html").noindex


def test_a_page_cannot_be_changed() -> None:
    page = parse_page(b"<p>x", "text/html")
    with pytest.raises(AttributeError):
        page.title = "y"


def test_an_unknown_state_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="give data, rcdata"):
        tokenise("x", "lost")


def test_similar_texts_have_similar_hashes() -> None:
    words = [f"w{'abcdefghij'[n % 10]}{'abcdefghij'[n // 10]}" for n in range(100)]
    near = simhash(" ".join(words)) ^ simhash(" ".join([*words[:-1], "other"]))
    far = simhash(" ".join(words)) ^ simhash("quite another text about nothing of the sort")
    assert near.bit_count() < 12 < far.bit_count()


def test_any_bytes_make_a_page() -> None:
    seed = random.randrange(1 << 32)
    source = random.Random(seed)
    parts = [b"<", b">", b"</", b"<!--", b"-->", b"<a href=", b'"', b"'", b"&", b"&#x", b";", b"="]
    parts += [b"<script>", b"</script>", b"<title>", b"<svg>", b"<![CDATA[", b"]]>", b" ", b"\r"]
    parts += [b"<style>", b"url(", b"\xff", b"\xc3", "é".encode(), b"\0", b"x", b"<pre>", b"</p"]
    types = [None, "text/html", "text/xml", "text/plain", "text/html; charset=gb18030"]
    for _ in range(2000):
        body = b"".join(source.choices(parts, k=source.randrange(60)))
        kind = source.choice(types)
        page = parse_page(body, kind)
        assert len(page.links) == len({(link.href, link.kind) for link in page.links}), seed
        if kind == "text/html" and b"<pre>" not in body:
            assert "  " not in page.text, (seed, body)
            assert page.text == page.text.strip(" \n"), (seed, body)
