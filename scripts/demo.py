"""`make demo`: crawl a simulated web with every oddity of the real one, look at it, search it."""

from __future__ import annotations

import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

import crivello
from crivello.simweb import SimWeb

HOSTS, PAGES, SEED = 40, 4000, 7
DIRECTORY = Path("demo.crivello")
QUESTIONS = {
    "Which hosts gave the most pages, and in which languages?": """
        select host, count(*) as pages, count(distinct lang) as languages,
               round(sum(bytes) / 1e6, 1) as megabytes
        from pages where status = 200 group by host order by pages desc limit 5""",
    "Which pages do others point to most?": """
        select p.url, any_value(p.title) as title, count(distinct l.src_hash) as linked_from
        from links l join pages p on p.url_hash = l.dst_hash
        where p.status = 200 group by p.url order by linked_from desc, p.url limit 5""",
}

COMMAND = Path(sys.executable).with_name("crivello")


def main() -> int:
    """Run the demonstration; 0 when the crawl found what it should."""
    console = Console()
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    with SimWeb(hosts=HOSTS, pages=PAGES, seed=SEED, profile="wild") as web:
        console.print(
            f"\nA simulated web of [b]{HOSTS} hosts[/b] and [b]{web.pages:,} pages[/b] serves on"
            f" port {web.port}: redirect loops, broken gzip, stalling hosts, traps and all.\n"
        )
        options = ["-o", str(DIRECTORY), "--scope", "any", "--delay", "0"]
        for rule in web.resolve:
            options += ["--resolve", rule]
        if code := run(console, "crawl", web.seed_url, *options):
            return code
    crawl = crivello.open(DIRECTORY)
    draw_outcomes(console, crawl)
    for question, query in QUESTIONS.items():
        answer(console, crawl, question, query)
    for asked in searches(crawl):
        console.print()
        if code := run(console, "search", str(DIRECTORY), asked, "-k", "2"):
            return code
    console.print(
        "\nSearch it in a browser: type the command, then open [b]http://127.0.0.1:8321/[/b]"
        f"\n\n  [b].venv/bin/crivello serve {DIRECTORY}[/b]"
        f"\n\nIt is all in [b]{DIRECTORY}/[/b]: WARC files, and Parquet tables for any SQL engine."
        f"\n\n  [b].venv/bin/crivello status {DIRECTORY}[/b]"
        f"\n  [b].venv/bin/crivello sql {DIRECTORY} 'select * from pages limit 3'[/b]\n",
        soft_wrap=True,
    )
    return 0


def run(console: Console, *arguments: str) -> int:
    """Show a command and run it; its exit code."""
    console.print(Text(f"$ crivello {shlex.join(arguments)}", style="dim"), soft_wrap=True)
    # Ctrl-C is the command's to answer: a handler, unlike what is ignored, is not passed on to it.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run([str(COMMAND), *arguments], check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)


def searches(crawl: crivello.Crawl) -> tuple[str, str, str]:
    """Three queries, of the titles that most pages link to: words, a phrase, alternatives."""
    rows = crawl.sql(r"""
        select p.title from links l join pages p on p.url_hash = l.dst_hash
        where p.status = 200 and regexp_full_match(p.title, '[A-Za-z]{3,}( [A-Za-z]{3,}){2,}')
        group by p.url, p.title order by count(distinct l.src_hash) desc, p.url limit 3""")
    one, two, three = (str(row[0]).lower().split() for row in rows)
    return (
        f"{one[0]} {one[2]}",
        f'"{two[0]} {two[1]}"',
        f"title:{three[0]} OR {three[2]} -{three[1]}",
    )


def draw_outcomes(console: Console, crawl: crivello.Crawl) -> None:
    """A bar chart of what came of the URLs."""
    rows = list(
        crawl.sql("""
            select coalesce(error, case when redirect_to is not null then 'redirect'
                                        else 'page' end) as outcome, count(*) as visits
            from pages group by 1 order by 2 desc""")
    )
    most = rows[0][1]
    table = Table(box=None, pad_edge=False)
    table.add_column("outcome")
    table.add_column("visits", justify="right")
    table.add_column("")
    for outcome, visits in rows:
        bar = "█" * max(1, round(40 * visits / most))
        colour = "green" if outcome == "page" else "cyan" if outcome == "redirect" else "red"
        table.add_row(outcome, f"{visits:,}", f"[{colour}]{bar}[/{colour}]")
    console.print("\n[b]What came of the visits[/b]")
    console.print(table)


def answer(console: Console, crawl: crivello.Crawl, question: str, query: str) -> None:
    """A question in words, and the rows that answer it."""
    result = crawl.sql(query).to_arrow()
    table = Table(box=None, pad_edge=False)
    for name in result.column_names:
        table.add_column(name)
    for row in result.to_pylist():
        table.add_row(*(str(value) for value in row.values()))
    console.print(f"\n[b]{question}[/b]")
    console.print(table)


if __name__ == "__main__":
    raise SystemExit(main())
