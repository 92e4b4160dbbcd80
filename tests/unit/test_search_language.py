"""The query language: what is typed is read as documented, or refused with the place."""

from __future__ import annotations

import random

import pytest

from crivello.search.language import MAX_DEPTH, MAX_TERMS, QueryError, parse, written

WORDS = ["sieve", "wikipédia", "c99", "漢", "ぁ", "ที่", "straße", "über", "or", "not", "title"]


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("Sieve", "sieve"),
        ("static hash", "static hash"),
        ("static AND hash", "static hash"),
        ("static OR perfect hash", "(static OR perfect) hash"),
        ("a b OR c d", "a (b OR c) d"),
        ('"static function" OR sieve -java', '("static function" OR sieve) -java'),
        ("NOT java sieve", "sieve -java"),
        ("a -b -c", "a -b -c"),
        ("a -(b OR c)", "a -b -c"),
        ("a -(b c)", "a -(b c)"),
        ("(a -b) c", "(a -b) c"),
        ("a (b (c d))", "a b c d"),
        ("title:Sieve", "title:sieve"),
        ('TITLE:"Static function"', 'title:"static function"'),
        ("title:(a OR b) -title:c", "(title:a OR title:b) -title:c"),
        ("title:title:a", "title:a"),
        ("subtitle:a", '"subtitle a"'),
        ("foo-bar", '"foo bar"'),
        ("don't", '"don t"'),
        ("https://a.sim/b", '"https a sim b"'),
        ("漢字 kanji", '"漢 字" kanji'),
        ('"foo"', "foo"),
        ("“smart quotes” „here“", '"smart quotes" here'),
        ("a & b", "a b"),
        ("a - b", "a b"),
        ("rock 'n' roll", "rock n roll"),
        ("and or not", "and or not"),
        ("a\u3000b", "a b"),
    ],
)
def test_a_query_is_read_as_documented(typed, read):
    query = parse(typed)
    assert str(query) == read
    assert query.text == typed


@pytest.mark.parametrize(
    ("typed", "position", "told"),
    [
        ("", 0, "no word"),
        (" & ", 0, "no word"),
        ('""', 0, "no word"),
        ("-java", 0, "only exclusions"),
        ("a (-b)", 2, "only exclusions"),
        ('say "hello', 4, "not closed"),
        ("a (b", 2, "not closed"),
        ("a b)", 3, "closes nothing"),
        ("OR a", 0, "OR needs a word"),
        ("a OR", 2, "OR needs a word"),
        ("a (OR b)", 3, "OR needs a word"),
        ("a AND OR b", 2, "AND needs a word"),
        ("a OR -b", 5, "cannot be an alternative"),
        ("-a OR b", 3, "cannot be an alternative"),
        ("a --b", 2, "a word must follow -"),
        ("a NOT", 2, "a word must follow -"),
        ("title:", 0, "a word must follow title:"),
        ("a title:-b", 2, "a word must follow title:"),
        ("(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1), MAX_DEPTH, "parentheses"),
        ("a " * (MAX_TERMS + 1), 2 * MAX_TERMS, "words"),
        ("title:" * 10_000 + "a", 6 * MAX_DEPTH, "in each other"),
        ("ab \udcff", 3, "no character"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(typed, position, told):
    with pytest.raises(QueryError, match=told) as refused:
        parse(typed)
    assert refused.value.position == position
    assert f"character {position + 1}:" in str(refused.value)


def some_leaf(rng):
    words = [rng.choice(WORDS) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
    leaf = ("term", words[0]) if len(words) == 1 else ("phrase", tuple(words))
    return ("title", leaf) if rng.random() < 0.2 else leaf


def some_tree(rng, depth):
    """A tree as the parser makes them: nothing of a kind directly inside its own kind."""
    kind = rng.choice(["leaf", "all", "any", "without"]) if depth else "leaf"
    if kind == "leaf":
        return some_leaf(rng)
    if kind == "without":
        return ("without", some_tree(rng, depth - 1), some_tree(rng, depth - 1))
    children = [some_tree(rng, depth - 1) for _ in range(rng.randrange(2, 4))]
    flat = [part for child in children for part in (child[1] if child[0] == kind else [child])]
    return (kind, tuple(flat))


def test_what_is_written_down_is_read_as_the_same_tree():
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(500):
        tree = some_tree(rng, 4)
        assert parse(written(tree)).tree == tree, written(tree)


def test_whatever_is_typed_is_read_or_refused():
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    pieces = [
        "a",
        "b-c",
        "OR",
        "AND",
        "NOT",
        "-",
        "(",
        ")",
        '"',
        "title:",
        " ",
        " ",
        "“",
        "漢",
        "&",
    ]
    read = 0
    for _ in range(5000):
        typed = "".join(rng.choice(pieces) for _ in range(rng.randrange(12)))
        try:
            query = parse(typed)
        except QueryError as refused:
            assert 0 <= refused.position <= len(typed)
            continue
        assert parse(str(query)).tree == query.tree, typed
        assert query.leaves
        read += 1
    assert read > 500
