"""The report of all that lies in `bench/out`: `python -m bench report [--docs] [--note TEXT]`.

Ratios first, then the tables of each benchmark. A benchmark's JSON may be what `_figures` writes,
or any list of objects (a table), or an object of such lists; one without JSON is quoted as it
printed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench._figures import OUT, columns, number, shown

DOCS = Path(__file__).parent.parent / "docs"
HEAD = """\
# Benchmarks

`make bench` measures all of this anew, into `bench/out`; `python -m bench report --docs` makes this
page of it. Ratios are ours divided by theirs, or theirs by ours where less is better, so that more
is better everywhere; both come from the same run on the same machine. Figures of several runs are
medians with the least and the most.
"""


def found() -> list[dict[str, Any]]:
    """What each benchmark left, in the form of `_figures`."""
    runs = sorted(OUT.glob("*.run.json"))
    return [_one(path.name.removesuffix(".run.json"), path) for path in runs]


def _one(name: str, path: Path) -> dict[str, Any]:
    result: dict[str, Any] = {"name": name, "run": json.loads(path.read_text("utf-8"))}
    file = OUT / f"{name}.json"
    if not file.exists():
        return {**result, "printed": (OUT / f"{name}.txt").read_text("utf-8")}
    data = json.loads(file.read_text("utf-8"))
    if isinstance(data, Mapping) and "tables" in data:
        return {**data, **result}
    return {**result, "tables": _tables(data)}


def _tables(data: object) -> list[dict[str, Any]]:
    if isinstance(data, list):
        return [{"title": "", "rows": [row for row in data if isinstance(row, Mapping)]}]
    if not isinstance(data, Mapping):
        return []
    lists = {key: value for key, value in data.items() if isinstance(value, list)}
    rest = [{"what": key, "figure": value} for key, value in data.items() if key not in lists]
    tables = [{"title": "", "rows": rest}] if rest else []
    for key, value in lists.items():
        tables += [{**table, "title": str(key)} for table in _tables(value)]
    return tables


def _cell(value: object) -> str:
    if isinstance(value, Mapping) and not {"median", "least", "most"} <= value.keys():
        return ", ".join(f"{key} {_cell(each)}" for key, each in value.items())
    return shown(value).replace("|", "\\|")


def markdown_table(rows: list[Mapping[str, Any]]) -> list[str]:
    """Rows as a table; columns of figures to the right."""
    names = columns(rows)
    figures = [
        all(not isinstance(row.get(name), str) for row in rows) for name in names
    ]  # fmt: skip
    lines = [f"| {' | '.join(names)} |", f"|{'|'.join('--:' if f else '---' for f in figures)}|"]
    lines += [f"| {' | '.join(_cell(row.get(name)) for name in names)} |" for row in rows]
    return lines


def _conditions(results: list[dict[str, Any]]) -> list[str]:
    machines = sorted({result["run"]["machine"] for result in results})
    versions = sorted({result["run"]["versions"] for result in results})
    builds = sorted({result["run"]["build"] for result in results})
    dates = sorted(result["run"]["date"] for result in results)
    return [
        f"- Machine: {'; '.join(machines)}",
        f"- Versions: {'; '.join(versions)}; {' and '.join(builds)} build",
        f"- Date: {dates[0]}" + (f" to {dates[-1]}" if dates[-1] != dates[0] else ""),
    ]


def markdown(results: list[dict[str, Any]], note: str = "") -> str:
    """The report as a page."""
    conditions = [*_conditions(results), *([f"- Note: {note}"] if note else [])]
    lines = [HEAD, *conditions, "", "![The ratios as bars](images/benchmarks.svg)", ""]
    ratios = [(result["name"], each) for result in results for each in result.get("ratios", ())]
    lines += ["## Ratios", "", "| what | ratio | aim |", "|---|--:|--:|"]
    for _, each in ratios:
        aim = number(each["target"]) if each.get("target") else ""
        lines.append(f"| {each['what']} | {number(each['value'])} | {aim} |")
    for result in results:
        lines += ["", f"## {result['name']}", ""]
        if question := result.get("question"):
            lines += [question, ""]
        lines.append(f"- Command: `{result['run']['command']}`")
        if corpus := result.get("corpus"):
            lines.append(f"- Corpus: {corpus}")
        if peers := result.get("peers"):
            lines.append("- Peers: " + ", ".join(f"{n} {v}" for n, v in peers.items()))
        if result["run"].get("exit", "0") != "0":
            lines.append(f"- **It failed**, with exit code {result['run']['exit']}.")
        for table in result.get("tables", ()):
            lines += ["", *([f"**{table['title']}**", ""] if table["title"] else [])]
            lines += markdown_table(table["rows"])
            lines += ["", table["note"]] if table.get("note") else []
        if printed := result.get("printed"):
            lines += ["", "```text", printed.partition("\n\n")[2].strip(), "```"]
    return "\n".join([*lines, ""])


def plot(results: list[dict[str, Any]], path: Path) -> None:
    """Crawlers by pages a second, and all ratios."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "crivello", "svg.fonttype": "none", "font.size": 8})
    from matplotlib import pyplot

    ratios = [each for result in results for each in result.get("ratios", ())]
    crawls = [
        row
        for result in results
        for table in result.get("tables", ())
        for row in table["rows"]
        if "crawler" in row and "pages/s" in row
    ]
    heights = [max(len(crawls), 1), max(len(ratios), 1)]
    figure, (above, below) = pyplot.subplots(
        2, 1, figsize=(8, 1.5 + 0.22 * sum(heights)), height_ratios=heights, layout="constrained"
    )
    speeds = [row["pages/s"] for row in crawls]
    errors = [[s["median"] - s["least"] for s in speeds], [s["most"] - s["median"] for s in speeds]]
    colours = ["#1f6feb" if "crivello" in row["crawler"] else "#9aa4af" for row in crawls]
    above.barh(
        [row["crawler"] for row in crawls], [s["median"] for s in speeds], color=colours,
        xerr=errors if speeds else None,
    )  # fmt: skip
    above.set_title("pages a second, whole crawls")
    above.invert_yaxis()
    below.barh([each["what"] for each in ratios], [r["value"] for r in ratios], color="#1f6feb")
    targets = [(n, each["target"]) for n, each in enumerate(ratios) if each.get("target")]
    below.plot([t for _, t in targets], [n for n, _ in targets], "k|", markersize=9, label="aim")
    below.axvline(1, color="#444", linewidth=0.8)
    if ratios:
        below.set_xscale("log")
    below.set_title("ratio to the peer, ours ÷ theirs (bars: measured, marks: aim)")
    below.invert_yaxis()
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    """Write the report; 1 when there is nothing to report."""
    parser = argparse.ArgumentParser(prog="python -m bench report")
    parser.add_argument("--docs", action="store_true", help="also write docs/benchmarks.md")
    parser.add_argument("--note", default="", help="what a reader should know of the run")
    options = parser.parse_args()
    results = found()
    if not results:
        print("bench: there is nothing to report yet; run python -m bench")
        return 1
    text = markdown(results, options.note)
    (OUT / "report.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    (OUT / "report.md").write_text(text.replace("images/benchmarks.svg", "report.svg"), "utf-8")
    plot(results, OUT / "report.svg")
    written = ["bench/out/report.md", "report.json", "report.svg"]
    if options.docs:
        (DOCS / "benchmarks.md").write_text(text, "utf-8")
        (DOCS / "images/benchmarks.svg").write_bytes((OUT / "report.svg").read_bytes())
        written += ["docs/benchmarks.md", "docs/images/benchmarks.svg"]
    print(f"bench: {len(results)} benchmarks in {', '.join(written)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
