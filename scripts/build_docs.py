"""`make docs`: the documentation as a site, in `site/`.

    python scripts/build_docs.py

The pages are `docs/` as it lies, and the pages of the repository's root that `ROOT_PAGES` names,
with their links led to where they stand in the site. The generator (Zensical, `docs/zensical.toml`)
stops at a link that leads nowhere; a page that the navigation lacks and anything that a page would
load from outside are problems too. Only what `docs/requirements.lock` names is needed.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SITE = ROOT / "site"
ROOT_PAGES = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changes.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "LICENSE": "project/license.md",
    "README.md": "index.md",  # only as an aim of links
}
NOT_PAGES = {"zensical.toml", "requirements.in", "requirements.lock"}

_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//[^"'>\s]+"""
    r"""|<link\b[^>]*\brel=["']?(?:stylesheet|preload|preconnect|icon)[^>]*(?:https?:)?//[^"'>\s]+"""
    r"""|@import\s+[^;]*//[^;]+|url\(["']?(?:https?:)?//[^)]+\)""",
    re.IGNORECASE,
)


def staged_name(name: str) -> str:
    """Where a file of the repository stands in the site's sources."""
    return ROOT_PAGES.get(name, name.removeprefix("docs/"))


def relinked(text: str, name: str) -> str:
    """A page's text with its links as they are from where it stands in the site."""
    here = posixpath.dirname(staged_name(name))

    def lead(match: re.Match[str]) -> str:
        path, mark, anchor = match[2].partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return match[0]
        aim = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        return (
            f"{match[1]}{posixpath.relpath(staged_name(aim), here or '.')}{mark}{anchor}{match[3]}"
        )

    return _LINK.sub(lead, text)


def stage(folder: Path) -> list[str]:
    """Lay the site's sources into `folder`; the names of its pages."""
    sources = [path for path in (ROOT / "docs").rglob("*") if path.is_file()]
    sources += [ROOT / name for name, aim in ROOT_PAGES.items() if aim != "index.md"]
    pages = []
    for source in sorted(sources):
        name = source.relative_to(ROOT).as_posix()
        if source.name in NOT_PAGES:
            continue
        aim = folder / staged_name(name)
        aim.parent.mkdir(parents=True, exist_ok=True)
        if source.name == "LICENSE":
            aim.write_text(f"# License\n\n```text\n{source.read_text('utf-8')}```\n", "utf-8")
        elif source.suffix == ".md":
            aim.write_text(relinked(source.read_text("utf-8"), name), "utf-8")
        else:
            shutil.copyfile(source, aim)
        if aim.suffix == ".md":
            pages.append(staged_name(name))
    return pages


def navigated(entry: Any) -> Iterator[str]:  # noqa: ANN401 - TOML
    """The pages that a navigation names."""
    if isinstance(entry, str):
        yield entry
    for part in entry.values() if isinstance(entry, dict) else entry:
        if not isinstance(entry, str):
            yield from navigated(part)


def loads_from_outside(site: Path) -> Iterator[str]:
    """What opening a page would fetch from another host."""
    for path in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        for match in _LOADED.finditer(path.read_text("utf-8")):
            yield f"{path.relative_to(site)}: would load {match[0]}"


def main() -> int:
    """Build the site; 1 when something in it is wrong."""
    settings = ROOT / "docs" / "zensical.toml"
    named = set(navigated(tomllib.loads(settings.read_text("utf-8"))["project"]["nav"]))
    with tempfile.TemporaryDirectory(prefix="crivello-docs-") as folder:
        work = Path(folder)
        pages = stage(work / "docs")
        lost = [f"docs/zensical.toml: the navigation lacks {page}" for page in {*pages} - named]
        shutil.copyfile(settings, work / "zensical.toml")
        command = [Path(sys.executable).with_name("zensical"), "build", "--strict"]
        environment = {**os.environ, "NO_COLOR": "1"}
        done = subprocess.run(
            command, cwd=work, env=environment, check=False, capture_output=True, text=True
        )
        problems = sorted(lost)
        if done.returncode == 0:
            problems += loads_from_outside(work / "site")
            shutil.rmtree(SITE, ignore_errors=True)
            shutil.copytree(work / "site", SITE)
        else:
            said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
            problems.append(said.partition("Traceback (most recent call last)")[0].strip())
    for problem in problems:
        print(problem)
    if problems:
        print(f"docs: the site has {len(problems)} problems", file=sys.stderr)
        return 1
    print(f"docs: {len(pages)} pages, open site/index.html; its search needs a server:")
    print("  python3 -m http.server -d site -b 127.0.0.1 8000   # http://127.0.0.1:8000/")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
