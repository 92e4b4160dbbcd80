"""The report takes what benchmarks leave, whatever its form."""

from __future__ import annotations

import json

import pytest

from bench import _figures, _report

RUN = {
    "command": "python -m bench x",
    "machine": "a machine",
    "versions": "Python 3",
    "build": "release",
    "date": "2026-11-19 22:00 UTC",
    "exit": "0",
}


@pytest.fixture
def out(tmp_path, monkeypatch):
    monkeypatch.setattr(_figures, "OUT", tmp_path)
    monkeypatch.setattr(_report, "OUT", tmp_path)
    return tmp_path


def left(out, name, data=None, **run):
    (out / f"{name}.run.json").write_text(json.dumps(RUN | run), "utf-8")
    (out / f"{name}.txt").write_text("command x\n\nas it printed\n", "utf-8")
    if data is not None:
        (out / f"{name}.json").write_text(json.dumps(data), "utf-8")


def test_ratios_come_first_and_spreads_are_told(out):
    figures = _figures.Figures("fast", "How fast?", corpus="three pages", packages=["pytest"])
    ours, theirs = _figures.spread([30.0, 20.0, 40.0]), _figures.spread([10.0])
    figures.table(
        "Speeds", [{"crawler": "ours", "pages/s": ours}, {"crawler": "b|c", "n": 5}], "so"
    )
    figures.ratio("ours ÷ theirs", ours, theirs, target=2.5)
    figures.finish()
    left(out, "fast")
    text = _report.markdown(_report.found())
    assert "| ours ÷ theirs | 3.00 | 2.50 |" in text
    assert "| crawler | pages/s | n |" in text
    assert "| ours | 30.0 (20.0 to 40.0) |  |" in text
    assert "| b\\|c |  | 5 |" in text
    assert f"- Peers: pytest {pytest.__version__}" in text
    assert text.index("## Ratios") < text.index("## fast") < text.index("**Speeds**")


def test_lists_of_objects_objects_of_lists_and_no_json_at_all_are_shown(out):
    left(out, "list", [{"engine": "a", "ms": 1.5}, {"engine": "b", "ms": 1200}])
    left(out, "object", {"documents": 12, "build": [{"engine": "a", "s": 0.25}]})
    left(out, "printed", exit="3")
    text = _report.markdown(_report.found())
    assert "| engine | ms |\n|---|--:|\n| a | 1.50 |\n| b | 1,200 |" in text
    assert "| documents | 12 |" in text
    assert "**build**\n\n| engine | s |\n|---|--:|\n| a | 0.25 |" in text
    assert "```text\nas it printed\n```" in text
    assert text.count("**It failed**, with exit code 3") == 1
