"""Reading pages: links and text, against selectolax on the same pages in the same run.

    python -m bench.kernels_page [DIRECTORY] [MAX_FILES]

DIRECTORY holds HTML (default: Debian's documentation). One thread, UTF-8 in memory, decoded
input, best of five. Ours is measured in Rust (`examples/page_throughput.rs`); selectolax gives the
`href` of every `a` and the text of the body, from Python, where its own time dominates.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import selectolax
from selectolax.lexbor import LexborHTMLParser

REPEATS = 5
ROOT = Path(__file__).parent.parent


def collect(directory: Path, most: int) -> list[Path]:
    """The HTML files in the order of the Rust example: names sorted, folders gone into."""
    files: list[Path] = []

    def walk(folder: Path) -> None:
        for path in sorted(folder.iterdir()):
            if len(files) >= most:
                return
            if path.is_dir() and not path.is_symlink():
                walk(path)
            elif path.suffix == ".html":
                files.append(path)

    walk(directory)
    return files


def links_and_text(page: str) -> tuple[list[str | None], str]:
    parser = LexborHTMLParser(page)
    links = [node.attributes.get("href") for node in parser.css("a[href]")]
    parser.strip_tags(["script", "style"])
    body = parser.body
    return links, body.text() if body is not None else ""


def decoded(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except (UnicodeDecodeError, OSError):
        return None


def main() -> None:
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/doc")
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    pages = [page for path in collect(directory, most) if (page := decoded(path)) is not None]
    size = sum(len(page.encode()) for page in pages)
    if not pages:
        raise SystemExit(f"bench: no HTML in {directory}: give a directory that holds some")
    best = 0.0
    for _ in range(REPEATS):
        begin = time.perf_counter()
        for page in pages:
            links_and_text(page)
        best = max(best, size / 1e6 / (time.perf_counter() - begin))
    command = ["cargo", "run", "--quiet", "--release", "--locked", "-p", "crivello-crawl"]
    command += ["--example", "page_throughput", "--", str(directory), str(most), str(REPEATS)]
    out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=os.environ)
    ours = json.loads(out.stdout)
    if (ours["pages"], ours["bytes"]) != (len(pages), size):
        raise SystemExit(f"bench: not the same pages: {ours['pages']} and {len(pages)}")
    print(f"{len(pages)} pages, {size / 1e6:.1f} MB, {directory}")
    print(f"selectolax {selectolax.__version__} links + text  {best:8.1f} MB/s")
    for name, key in [("links + text", "extract_mb_s"), ("and digests", "parse_mb_s")]:
        print(f"crivello {name:14} {ours[key]:8.1f} MB/s  {ours[key] / best:.2f} x selectolax")
    print(f"simhash of words        {ours['simhash_mb_s']:8.1f} MB/s of text")
    print(f"text digest             {ours['text_digest_mb_s']:8.1f} MB/s of text")


if __name__ == "__main__":
    main()
