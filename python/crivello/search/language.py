"""The query language: what a person types, read as a tree.

    query   = group
    group   = { ["AND"] ( choice | negated ) }      all of them
    choice  = unit { "OR" unit }                    any of them
    negated = ( "-" | "NOT" ) unit                  none of them
    unit    = word | quoted | "title:" unit | "(" group ")"

`OR` binds tighter than standing side by side, as in the search engines of the web: `static OR
perfect hash` is (static OR perfect) and hash. Operators are upper case. A word that analysis
splits (`foo-bar`, `漢字`) is a phrase, one that holds no letter or digit (`&`) is nothing.

A tree is made of nested tuples, as the index takes them:

    ("term", t) · ("phrase", (t, …)) · ("title", leaf)
    ("all", (tree, …)) · ("any", (tree, …)) · ("without", tree, tree)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from crivello._native import analyse
from crivello.errors import UsageError

if TYPE_CHECKING:
    from crivello._native import Leaf
    from crivello._native import Query as Tree

MAX_DEPTH = 16
MAX_TERMS = 1024
"""Bounds of what is read; a tree of them is within those of the index (64 deep, 1,024 leaves)."""

_TOKEN = re.compile(r'\s+|[()]|["“”„]|-(?=\S)|title:|[^\s()"“”„]+', re.IGNORECASE)
_QUOTES = '"“”„'
_SURROGATE = re.compile("[\ud800-\udfff]")


class QueryError(UsageError):
    """A query that cannot be read; `position` is the character at which, from 0."""

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(f"query: character {position + 1}: {problem}")
        self.position = position


@dataclass(frozen=True)
class Query:
    """A query as it was typed, and as it was read; `str` writes the latter down.

    >>> str(parse("Static OR perfect foo-bar -java"))
    '(static OR perfect) "foo bar" -java'
    """

    text: str
    tree: Tree = field(repr=False)

    def __str__(self) -> str:
        return written(self.tree)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """What is looked for and scored, from left to right: not what is excluded."""
        return tuple(_leaves(self.tree))


def parse(text: str) -> Query:
    """Read a query; a `QueryError` says what cannot be read, and where."""
    if found := _SURROGATE.search(text):
        raise QueryError("this is no character: the query is not UTF-8", found.start())
    return Query(text, _Parser(text).whole())


@dataclass(frozen=True)
class _Token:
    kind: str
    """One of: word, quoted, "(", ")", "-", title, or, and, end."""
    at: int
    text: str = ""


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None  # every character begins some token
        found = match[0]
        if found[0] in _QUOTES:
            end = next((n for n in range(at + 1, len(text)) if text[n] in _QUOTES), None)
            if end is None:
                raise QueryError("the quote that opens here is not closed", at)
            yield _Token("quoted", at, text[at + 1 : end])
            at = end + 1
            continue
        if found in ("(", ")") or (found == "-" and text[at + 1 : at + 2].strip()):
            yield _Token(found, at)
        elif found.lower() == "title:":
            yield _Token("title", at)
        elif found in ("OR", "AND"):
            yield _Token(found.lower(), at)
        elif found == "NOT":
            yield _Token("-", at, found)
        elif not found.isspace():
            yield _Token("word", at, found)
        at = match.end()
    yield _Token("end", at)


class _Parser:
    """Recursive descent over the tokens. A method returns None for what holds no word."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._next = 0
        self._depth = 0
        self._terms = 0

    def whole(self) -> Tree:
        tree = self._group(0)
        if self._here.kind == ")":
            raise QueryError("this parenthesis closes nothing", self._here.at)
        if tree is None:
            raise QueryError("there is no word to search for", 0)
        return tree

    @property
    def _here(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._here
        self._next += 1
        return token

    def _group(self, start: int) -> Tree | None:
        wanted: list[Tree] = []
        unwanted: list[Tree] = []
        while self._here.kind not in (")", "end"):
            token = self._here
            if token.kind == "and":
                self._operator(token, self._next > 0)
            elif token.kind == "-":
                self._take()
                _append(unwanted, "any", self._operand(token))
                if self._here.kind == "or":
                    raise QueryError(
                        "what is excluded cannot be an alternative; put both into parentheses"
                        " after -",
                        self._here.at,
                    )
            else:
                _append(wanted, "all", self._choice())
        if unwanted and not wanted:
            raise QueryError("only exclusions: add a word that pages must hold", start)
        if not wanted:
            return None
        found = _joined("all", wanted)
        return ("without", found, _joined("any", unwanted)) if unwanted else found

    def _operator(self, token: _Token, after_something: bool) -> None:
        """Pass an AND or OR, which needs something on both sides."""
        before = self._tokens[self._next - 1].kind if after_something else "("
        self._take()
        if before in ("(", "and", "or") or self._here.kind in (")", "end", "and", "or"):
            raise QueryError(f"{token.kind.upper()} needs a word before and after it", token.at)

    def _choice(self) -> Tree | None:
        alternatives: list[Tree] = []
        if self._here.kind == "or":
            self._operator(self._here, False)
        _append(alternatives, "any", self._unit())
        while self._here.kind == "or":
            self._operator(self._here, True)
            if self._here.kind == "-":
                raise QueryError("what is excluded cannot be an alternative", self._here.at)
            _append(alternatives, "any", self._unit())
        return _joined("any", alternatives) if alternatives else None

    def _operand(self, operator: _Token) -> Tree | None:
        """The unit after - or title:, which must be there."""
        if self._here.kind not in ("word", "quoted", "(", "title"):
            name = {"-": "- (NOT)", "title": "title:"}[operator.kind]
            raise QueryError(f"a word must follow {name}", operator.at)
        return self._unit()

    def _unit(self) -> Tree | None:
        token = self._take()
        if token.kind in ("word", "quoted"):
            return self._leaf(token)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise QueryError(f"more than {MAX_DEPTH} parentheses in each other", token.at)
        if token.kind == "title":
            inner = self._operand(token)
            found = None if inner is None else _in_title(inner)
        else:
            found = self._group(token.at)
            if self._take().kind != ")":
                raise QueryError("the parenthesis that opens here is not closed", token.at)
        self._depth -= 1
        return found

    def _leaf(self, token: _Token) -> Leaf | None:
        terms = tuple(term for term, _, _ in analyse(token.text))
        self._terms += len(terms)
        if self._terms > MAX_TERMS:
            raise QueryError(f"more than {MAX_TERMS} words", token.at)
        if not terms:
            return None
        return ("term", terms[0]) if len(terms) == 1 else ("phrase", terms)


def _append(trees: list[Tree], kind: Literal["all", "any"], tree: Tree | None) -> None:
    """Add a tree to those that `kind` will join; one of the same kind is dissolved into them."""
    if tree is None:
        return
    if tree[0] == kind:
        trees.extend(tree[1])
    else:
        trees.append(tree)


def _joined(kind: Literal["all", "any"], trees: list[Tree]) -> Tree:
    return trees[0] if len(trees) == 1 else (kind, tuple(trees))


def _in_title(tree: Tree) -> Tree:
    """The same tree, of which every leaf must be in the title."""
    if tree[0] == "all" or tree[0] == "any":
        return (tree[0], tuple(map(_in_title, tree[1])))
    if tree[0] == "without":
        return ("without", _in_title(tree[1]), _in_title(tree[2]))
    return tree if tree[0] == "title" else ("title", tree)


def _leaves(tree: Tree) -> Iterator[Leaf]:
    if tree[0] == "all" or tree[0] == "any":
        for child in tree[1]:
            yield from _leaves(child)
    elif tree[0] == "without":
        yield from _leaves(tree[1])
    else:
        yield tree


def written(tree: Tree) -> str:
    """A tree in the query language; reading it gives the same tree.

    >>> written(("without", ("any", (("term", "a"), ("phrase", ("b", "c")))), ("term", "d")))
    '(a OR "b c") -d'
    """
    if tree[0] == "term":
        return tree[1]
    if tree[0] == "phrase":
        return f'"{" ".join(tree[1])}"'
    if tree[0] == "title":
        return f"title:{written(tree[1])}"
    if tree[0] == "all":
        return " ".join(map(_part, tree[1]))
    if tree[0] == "any":
        return " OR ".join(map(_part, tree[1]))
    wanted = written(tree[1]) if tree[1][0] == "all" else _part(tree[1])
    unwanted = tree[2][1] if tree[2][0] == "any" else (tree[2],)
    return " ".join([wanted, *(f"-{_part(each)}" for each in unwanted)])


def _part(tree: Tree) -> str:
    text = written(tree)
    return f"({text})" if tree[0] in ("all", "any", "without") else text
