"""The documentation is true: its links, paths, commands, settings, and the tour of the README."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from crivello.simweb import SimWeb

ROOT = Path(__file__).parents[2]
CHECK = ROOT / "scripts/check_docs.py"
PORT = "8321"


def check(root):
    command = [sys.executable, str(CHECK), str(root)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def blocks(path, language):
    found = re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text("utf-8"), re.M | re.S)
    return [text for name, text in found if name == language]


def test_the_documentation_is_true():
    done = check(ROOT)
    assert done.stdout == ""
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[a](nowhere.md)", "the link leads nowhere: nowhere.md"),
        ("[a](#nothing)", "no heading of page.md is called #nothing"),
        ("`tests/nothing.py`", "there is no tests/nothing.py"),
        ("`tests/a.py::test_b`", "tests/a.py has no test_b"),
        ("`crivello crwl`", "crivello has no command 'crwl'"),
        ("`crivello crawl --dealy 1`", "crivello crawl has no option --dealy"),
        ("```sh\ncrivello simweb --pages many\n```", "a valid integer"),
        ("```console\n$ crivello sql \\\n  --limit 3\n```", "Missing argument"),
        ("```sh\nmake love\n```", "make has no verb 'love'"),
    ],
)
def test_what_is_not_true_is_named_with_its_line(tmp_path, text, told):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/a.py").write_text("def test_a(): ...\n", "utf-8")
    (tmp_path / "page.md").write_text(f"# A page\n\n[well](#a-page)\n\n{text}\n", "utf-8")
    done = check(tmp_path)
    assert done.returncode == 1
    named = [line for line in done.stdout.splitlines() if line.startswith("page.md:")]
    assert len(named) == 1
    assert re.match(r"page\.md:[56]: ", named[0])
    assert told in named[0]


def test_settings_that_are_missing_or_made_up_are_named(tmp_path):
    page = (ROOT / "docs/settings.md").read_text("utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/settings.md").write_text(page.replace("| `delay` |", "| `sloth` |"), "utf-8")
    told = check(tmp_path).stdout.splitlines()
    assert [line for line in told if "listed" in line or "no setting" in line] == [
        "docs/settings.md: politeness.delay is listed 0 times",
        "docs/settings.md: there is no setting politeness.sloth",
    ]


def test_the_tour_of_the_readme_runs(tmp_path):
    """Every command and every program of the tour, in order, against a web of the same options."""
    readme = ROOT / "README.md"
    commands = "".join(blocks(readme, "console"))
    lines = [line.removeprefix("$ ") for line in commands.splitlines() if line.startswith("$ ")]
    assert lines[0] == f"crivello simweb --hosts 20 --pages 2000 --port {PORT} &"
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    with SimWeb(hosts=20, pages=2000) as web:
        for line in lines[1:]:
            command = line.replace(PORT, str(web.port))
            environment = {"PATH": path, "LC_ALL": "C.UTF-8"}
            done = subprocess.run(
                command, shell=True, cwd=tmp_path, env=environment, check=False,
                capture_output=True, text=True, timeout=120,
            )  # fmt: skip
            assert done.returncode == 0, f"{command}: {done.stderr}"
    programs = blocks(readme, "python")
    outputs = [block for block in blocks(readme, "") if "finished" in block or "a.sim" in block]
    assert len(programs) == len(outputs) == 2
    for program, output in zip(programs, outputs, strict=True):
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True,
            text=True, timeout=120,
        )  # fmt: skip
        assert done.stdout == output
