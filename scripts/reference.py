"""The pages of the documentation that are made from the code.

    python scripts/reference.py            writes them anew
    python scripts/reference.py --check    names those that are out of date (`make docs` does)

`docs/reference/commands.md` comes from the help of each command, `docs/settings.md` from the model
of the settings, `docs/reference/python/*.md` from the docstrings of the modules named in `PAGES`,
read as source: signatures stand as they are written. Docstrings are Markdown; their examples run
in `tests/unit/test_docstrings.py`.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer

from crivello import settings_file
from crivello.cli.app import app

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "python"
NOTE = "This page is made from the code: `python scripts/reference.py` renews it."


class Page(NamedTuple):
    """A page about Python: its title, what it says first, and the names of each module."""

    title: str
    head: str
    modules: dict[str, str]


PAGES = {
    "crawl": Page(
        "Crawls",
        "`import crivello` gives `crivello.Crawl`, `crivello.open` and the errors; the rest is"
        " imported from where it stands.",
        {
            "crivello.crawl.crawl": "Crawl open_crawl import_warcs TableView Summary Options",
            "crivello.crawl.importer": "Imported Watch",
            "crivello.crawl.why": "Why Step Rule Mention Copy",
            "crivello.crawl.status": "Status",
            "crivello.errors": "Error UsageError",
            "crivello.config": "Settings SettingError Described describe",
        },
    ),
    "store": Page(
        "Stores and SQL",
        "What a crawl keeps, read while it runs or afterwards. [Tables](../../formats/tables.md)"
        " lists the columns.",
        {
            "crivello.store.reader": "Snapshot",
            "crivello.store.sql": "Rows",
            "crivello.store.capture": "Capture",
            "crivello.store.export": "export",
        },
    ),
    "search": Page(
        "Search",
        "The index and the search over it. [Search](../../search.md) tells the query language.",
        {
            "crivello.search.searcher": "Searcher",
            "crivello.search.results": "Results Hit",
            "crivello.search.language": "parse Query QueryError",
            "crivello.index.indexer": "Indexer Update",
        },
    ),
    "sieve": Page(
        "Sieves",
        "From all the URLs that a crawl meets, each comes out exactly once."
        " [Use the parts alone](../../how-to/parts.md) shows them at work.",
        {
            "crivello.sieve.protocol": "Sieve Offers",
            "crivello.sieve.mercator": "MercatorSieve",
            "crivello.sieve.memory": "MemorySieve",
        },
    ),
    "frontier": Page(
        "Frontiers",
        "Queues of URLs by host, and whose turn it is."
        " [Use the parts alone](../../how-to/parts.md) shows one at work.",
        {
            "crivello.frontier.protocol": "Frontier LEASES CLOCKS",
            "crivello.frontier.disk": "DiskFrontier",
            "crivello.frontier.memory": "MemoryFrontier",
        },
    ),
    "web": Page(
        "robots.txt and URLs",
        "What a site asks of its visitors ([decisions](../../robots.md)), and what makes two URLs"
        " the same.",
        {
            "crivello.fetch.robots": "Robots RequestRate VisitTime lint Remark",
            "crivello.url": "normalise url_hash split domain Parts",
            "crivello.units": "parse_duration parse_size",
        },
    ),
    "simweb": Page(
        "The simulated web",
        "A web made from a seed number, for tests ([what it holds](../../simweb.md)).",
        {"crivello.simweb": "SimWeb Request"},
    ),
}


def pages() -> dict[str, str]:
    """Every page that is made, by its path in the repository."""
    made = {"docs/settings.md": settings_file.reference(), "docs/reference/commands.md": commands()}
    for name, page in PAGES.items():
        made[f"docs/reference/python/{name}.md"] = python_page(page)
    return made


def commands() -> str:
    """The help of every command."""
    root: Any = typer.main.get_command(app)
    parts = [
        "# Commands",
        "",
        "What `--help` prints, command by command. Exit codes are the same for all: 0 done, or a",
        "limit that was given was reached; 1 an error; 2 wrong usage; 3 interrupted or stopped,",
        "to be resumed. An error is one line; `--debug` shows where it comes from. Facts go to the",
        "standard output, remarks and progress to the other.",
        "",
        NOTE,
        "",
        *_help(root, "crivello"),
    ]
    for name, command in root.commands.items():
        parts += [f"## {name}", "", *_help(command, f"crivello {name}")]
    return "\n".join(parts).rstrip() + "\n"


def _help(command: Any, name: str) -> list[str]:  # noqa: ANN401 - typer's own click
    context = command.make_context(
        name, ["--help"], resilient_parsing=True, terminal_width=84, max_content_width=84
    )
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    return ["```text", text.strip(), "```", ""]


def python_page(page: Page) -> str:
    """The page about some modules."""
    parts = [f"# {page.title}", "", page.head, "", NOTE]
    for module, names in page.modules.items():
        source = (SOURCE / f"{module.replace('.', '/')}.py").read_text("utf-8")
        found = dict(_named(ast.parse(source).body))
        for name in names.split():
            where, known_as = _imported(module, name)
            shown = _documented(*found[name], known_as, source)
            parts += ["", f"## {known_as}", "", f"*in `{where}`*", "", *shown]
    return "\n".join(parts) + "\n"


def _imported(module: str, name: str) -> tuple[str, str]:
    """From where a person imports a name, and as what: the outermost package that hands it on."""
    parts = module.split(".")
    for length in range(1, len(parts)):
        package = ".".join(parts[:length])
        tree = ast.parse((SOURCE / "/".join(parts[:length]) / "__init__.py").read_text("utf-8"))
        for node in ast.walk(tree):
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                if alias.name == name:
                    return package, alias.asname or name
    return module, name


def _named(body: list[ast.stmt]) -> Iterator[tuple[str, tuple[ast.stmt, str]]]:
    """Public definitions by name, each with its docstring; a string after a value is its own."""
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if not node.name.startswith("_"):
                yield node.name, (node, ast.get_docstring(node) or "")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            text = after.value if isinstance(after, ast.Expr) else None
            said = text.value if isinstance(text, ast.Constant) else ""
            if isinstance(target, ast.Name) and not target.id.startswith("_"):
                yield target.id, (node, inspect.cleandoc(str(said)))


def _documented(node: ast.stmt, text: str, name: str, source: str) -> list[str]:
    if isinstance(node, ast.ClassDef):
        return _class(node, text)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [*_code(_signature(node, name)), *_prose(text)]
    return [*_code(ast.get_source_segment(source, node) or ""), *_prose(text)]


def _class(node: ast.ClassDef, text: str) -> list[str]:
    inits = [
        member
        for member in node.body
        if isinstance(member, ast.FunctionDef) and member.name == "__init__"
    ]
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    plain = f"class {node.name}({bases})" if bases else f"class {node.name}"
    parts = [*_code(_signature(inits[0], node.name) if inits else plain), *_prose(text)]
    fields = []
    for name, (member, said) in _named(node.body):
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
            marks = {ast.unparse(mark) for mark in member.decorator_list}
            if "property" in marks:
                shown = name + (f": {ast.unparse(member.returns)}" if member.returns else "")
            else:
                shown = _signature(member, name, bound="staticmethod" not in marks)
            parts += ["", f"### {node.name}.{name}", "", *_code(shown), *_prose(said)]
        elif isinstance(member, ast.AnnAssign):
            fields.append((name, ast.unparse(member.annotation), said))
    first = next((n for n, part in enumerate(parts) if part.startswith("### ")), len(parts) + 1)
    parts[first - 1 : first - 1] = _table(fields)
    return parts


def _table(fields: list[tuple[str, str, str]]) -> list[str]:
    """Fields of a class; the last column only when one of them is explained."""
    explained = any(said for _, _, said in fields)
    rows = [("field", "type", ""), ("---", "---", "---")]
    rows += [(f"`{name}`", f"`{kind}`".replace("|", "\\|"), said) for name, kind, said in fields]
    shown = [" | ".join(row if explained else row[:2]).strip() for row in rows]
    return ["", *(f"| {row} |" for row in shown)] if fields else []


def _signature(
    node: ast.FunctionDef | ast.AsyncFunctionDef, name: str, *, bound: bool = True
) -> str:
    """A call as it is written, one parameter a line when it is long."""
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults))
    pairs = list(zip(plain, [*defaults, *arguments.defaults], strict=True))
    if bound and plain and plain[0].arg in ("self", "cls"):
        del pairs[0]
    parts = [_parameter(*pair) for pair in pairs]
    if arguments.vararg:
        parts.append(f"*{_parameter(arguments.vararg, None)}")
    elif arguments.kwonlyargs:
        parts.append("*")
    parts += [_parameter(*p) for p in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    if arguments.kwarg:
        parts.append(f"**{_parameter(arguments.kwarg, None)}")
    back = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    line = f"{name}({', '.join(parts)}){back}"
    if len(line) <= 88:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){back}"


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    kind = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
    equal = " = " if kind else "="
    return argument.arg + kind + (f"{equal}{ast.unparse(default)}" if default else "")


def _code(text: str) -> list[str]:
    return ["```py", text, "```"]


def _prose(text: str) -> list[str]:
    """A docstring as Markdown: examples become code."""
    parts: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        if not paragraph.strip():
            continue
        plain = inspect.cleandoc(re.sub(r"\s*# doctest: .*", "", paragraph))
        parts += ["", *(["```pycon", plain, "```"] if plain.startswith(">>>") else [plain])]
    return parts


def out_of_date(root: Path) -> list[str]:
    """The pages under `root` that differ from what the code says."""
    return [
        name
        for name, text in pages().items()
        if not (root / name).exists() or (root / name).read_text("utf-8") != text
    ]


def main(arguments: list[str]) -> int:
    """Write the pages, or with `--check` only look; 1 when one is out of date."""
    stale = out_of_date(ROOT)
    if arguments == ["--check"]:
        for name in stale:
            print(f"{name}: is not what the code says; python scripts/reference.py renews it")
        return 1 if stale else 0
    made = pages()
    for name in stale:
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(made[name], "utf-8")
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
