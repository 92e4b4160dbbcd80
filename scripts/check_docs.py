"""`make docs`: what the documentation says about files, commands and settings is true.

    python scripts/check_docs.py [ROOT]

Checked are, in every Markdown file: relative links and their anchors; paths of this repository in
backquotes (`tests/unit/test_url.py::test_name` with the test); `make` verbs; `crivello` commands,
in code blocks parsed in full, in backquotes by subcommand and option names. The pages made from the
code must be what it says, and a `docs/*.md` named in the sources must exist.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import reference
import typer

from crivello.cli.app import app

GENERATED = {"bench/out"}
ROOMS = ("bench", "crates", "docs", "python", "scripts", "tests", ".ci")
SHELLS = {"sh", "console"}

_LINK = re.compile(r"(?<!!)\[[^]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`]+)`")
_FENCE = re.compile(r"^\s*```\s*(\S*)")
_PATH = re.compile(rf"(?:{'|'.join(map(re.escape, ROOMS))})/[\w./*-]+(?:::\w+)?")
_PAGE = re.compile(r"\bdocs/[\w/-]+\.md\b")


class Line(NamedTuple):
    """A line of a Markdown file; `shell` when it is one of a code block of commands."""

    number: int
    text: str
    code: bool
    shell: str


def lines(path: Path) -> Iterator[Line]:
    """The lines of a Markdown file; continued ones in commands as one."""
    fence, pending, started = None, "", 0
    for number, text in enumerate(path.read_text("utf-8").splitlines(), 1):
        if match := _FENCE.match(text):
            fence = None if fence is not None else match[1]
            continue
        if fence is None:
            yield Line(number, text, False, "")
            continue
        command = pending + text.strip()
        started = started if pending else number
        if fence in SHELLS and command.endswith("\\"):
            pending = command.removesuffix("\\")
            continue
        pending = ""
        if fence == "console":
            command = command.removeprefix("$ ") if command.startswith("$ ") else ""
        yield Line(started, text, True, command if fence in SHELLS else "")


def anchors(path: Path) -> set[str]:
    """The names under which the headings of a file can be linked to."""
    headings = (line.text for line in lines(path) if not line.code and line.text.startswith("#"))
    titles = (re.sub(r"[^\w\- ]", "", heading.lstrip("#").strip().lower()) for heading in headings)
    return {title.replace(" ", "-") for title in titles}


def check_link(root: Path, path: Path, target: str) -> str | None:
    """What is wrong with a link."""
    if re.match(r"[a-z]+:", target):
        return None
    name, _, anchor = target.partition("#")
    aim = path.parent / name if name else path
    if not aim.exists() or not aim.resolve().is_relative_to(root.resolve()):
        return f"the link leads nowhere: {target}"
    if anchor and aim.suffix == ".md" and anchor not in anchors(aim):
        return f"no heading of {aim.name} is called #{anchor}"
    return None


def check_path(root: Path, name: str) -> str | None:
    """What is wrong with a path of the repository, with `::` and a test or without."""
    file, _, test = name.partition("::")
    if file.rstrip("/") in GENERATED:
        return None
    if not any(root.glob(file.rstrip("/."))):
        return f"there is no {file}"
    if test and not re.search(rf"\b(def|fn) {test}\(", (root / file).read_text("utf-8")):
        return f"{file} has no {test}"
    return None


def check_command(text: str, *, whole: bool) -> str | None:
    """What is wrong with a command line of `crivello`; a `whole` one must parse as it stands."""
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError as error:
        return f"{text!r}: {error}"
    ends = (n for n, word in enumerate(words) if set(word) <= set("|&;<>()"))
    words = words[1 : next(ends, len(words))]
    command: Any = typer.main.get_command(app)
    if words and not words[0].startswith("-"):
        name = words.pop(0)
        if name not in command.commands:
            return f"crivello has no command {name!r}"
        command = command.commands[name]
    known = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
    known |= {"-h", "--help", "--debug"}
    for word in words:
        option = word.partition("=")[0]
        if word.startswith("-") and word != "-" and option not in known:
            return f"crivello {command.name} has no option {option}"
    if whole and "--help" not in words and command.name != "crivello":
        try:
            command.make_context(command.name, [word for word in words if word != "--debug"])
        except Exception as error:
            said = error.format_message() if hasattr(error, "format_message") else error
            return f"{text!r}: {said}"
    return None


def check_make(root: Path, text: str) -> str | None:
    """What is wrong with a `make` command."""
    makefile = (root / "Makefile").read_text("utf-8") if (root / "Makefile").exists() else ""
    verbs = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    verb = ([*text.split(), ""])[1]
    return None if verb in verbs else f"make has no verb {verb!r}"


def check_shell(root: Path, text: str, *, whole: bool) -> str | None:
    """What is wrong with a command, if it is one of ours."""
    text = text.removeprefix(".venv/bin/")
    if text.startswith("crivello "):
        return check_command(text, whole=whole)
    if text.startswith("make "):
        return check_make(root, text)
    return None


def check_page(root: Path, path: Path) -> Iterator[str]:
    """What is wrong in a Markdown file."""
    for line in lines(path):
        found = [check_shell(root, line.shell, whole=True)] if line.shell else []
        if not line.code:
            found += [check_link(root, path, target) for target in _LINK.findall(line.text)]
            for code in _CODE.findall(line.text):
                found.append(check_shell(root, code, whole=False))
                if _PATH.fullmatch(code):
                    found.append(check_path(root, code))
        for problem in filter(None, found):
            yield f"{path.relative_to(root)}:{line.number}: {problem}"


def check_made(root: Path) -> Iterator[str]:
    """Pages that are made from the code and are out of date."""
    for page in reference.out_of_date(root):
        yield f"{page}: is not what the code says; `python scripts/reference.py` renews it"


def check_sources(root: Path) -> Iterator[str]:
    """Pages that the sources name and that do not exist."""
    for pattern in ("crates/**/*.rs", "python/**/*.py", "bench/*.py"):
        for path in sorted(root.glob(pattern)):
            for number, text in enumerate(path.read_text("utf-8").splitlines(), 1):
                for page in _PAGE.findall(text):
                    if not (root / page).exists():
                        yield f"{path.relative_to(root)}:{number}: there is no {page}"


def pages(root: Path) -> list[Path]:
    """The Markdown files of the project, not those of test data."""
    found = [path.relative_to(root) for path in root.rglob("*.md")]
    hidden = {path for path in found if any(part.startswith(".") for part in path.parts)}
    data = {path for path in found if path.parts[:2] == ("tests", "data")}
    return sorted(root / path for path in {*found} - hidden - data)


def problems(root: Path) -> list[str]:
    """Everything that is wrong, one line each."""
    found = [problem for path in pages(root) for problem in check_page(root, path)]
    return [*found, *check_made(root), *check_sources(root)]


def main(arguments: list[str]) -> int:
    """Print what is wrong; 1 when something is."""
    root = Path(arguments[0]) if arguments else Path(__file__).parent.parent
    found = problems(root)
    for problem in found:
        print(problem)
    print(f"docs: {len(pages(root))} pages, {len(found)} problems", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
