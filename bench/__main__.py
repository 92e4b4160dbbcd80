"""Run benchmarks one after another, after `make release`:

    python -m bench [NAME...] [OPTION...]     all, or those named (with options of theirs)
    python -m bench report [--docs] [--note TEXT]     the report of what lies in bench/out

Each file of this folder answers one question and is a program of its own, run by the Python of an
environment in the cache that holds the peers (`scripts/setup.sh --bench`). What it prints goes to
the screen and, under a head that says on what it was measured, to `bench/out/NAME.txt`; figures go
to `bench/out/NAME.json`. All together they end in `bench/out/report.md`, `report.json` and
`report.svg`; `--docs` also writes them to `docs/benchmarks.md` and `docs/images/benchmarks.svg`.
"""

from __future__ import annotations

import datetime
import itertools
import json
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
OUT = HERE / "out"


def names() -> list[str]:
    """The benchmarks that there are."""
    return sorted(path.stem for path in HERE.glob("[a-z]*.py"))


def first_value(path: str, key: str) -> str:
    """The value of a `key : value` line of a file of /proc; empty where there is none."""
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except OSError:
        return ""
    pairs = (line.partition(":") for line in lines)
    return next((value.strip() for name, _, value in pairs if name.strip() == key), "")


def machine() -> str:
    """Processor, cores, memory and system."""
    kilobytes = first_value("/proc/meminfo", "MemTotal").split()
    memory = f"{int(kilobytes[0]) / (1 << 20):.1f} GiB" if kilobytes else "memory unknown"
    processor = first_value("/proc/cpuinfo", "model name") or platform.machine()
    return (
        f"{processor}, {os.cpu_count()} cores, {memory}, {platform.system()} {platform.release()}"
    )


def commit() -> str:
    """What is measured."""
    git = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    done = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def build() -> str:
    """Which build of the extension is measured; figures count from `release` only."""
    try:
        return (ROOT / ".venv" / ".profile").read_text("utf-8").strip()
    except OSError:
        return "unknown"


def environment() -> dict[str, str]:
    """With crivello, and the cargo that builds it in front, for kernels measured in Rust."""
    setup = [ROOT / "scripts" / "setup.sh", "--cargo"]
    cargo = Path(subprocess.check_output(setup, text=True).strip())
    path = f"{cargo.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "python")}


def python() -> str:
    """The Python of the environment that holds the peers."""
    setup = [ROOT / "scripts" / "setup.sh", "--bench"]
    return subprocess.check_output(setup, text=True).strip()


def run(name: str, options: list[str]) -> bool:
    """Run one benchmark in sight, keep what it says; whether it succeeded."""
    facts = {
        "command": shlex.join(["python", "-m", "bench", name, *options]),
        "machine": machine(),
        "versions": f"Python {platform.python_version()}, crivello at commit {commit()}",
        "build": build(),
        "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC",
    }
    head = [f"{key:9} {value}" for key, value in facts.items()]
    print(f"\n== {name}", *head, "", sep="\n", flush=True)
    OUT.mkdir(exist_ok=True)
    (OUT / f"{name}.json").unlink(missing_ok=True)
    with (OUT / f"{name}.txt").open("w", encoding="utf-8") as out:
        out.write("\n".join([*head, "", ""]))
        command = [python(), "-u", "-m", f"bench.{name}", *options]
        with subprocess.Popen(
            command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True
        ) as process:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                out.write(line)
        if process.returncode != 0:
            out.write(f"\nfailed with exit code {process.returncode}\n")
    facts["exit"] = str(process.returncode)
    (OUT / f"{name}.run.json").write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
    return process.returncode == 0


def report(options: list[str]) -> int:
    """Put together what there is."""
    command = [python(), "-m", "bench._report", *options]
    return subprocess.run(command, cwd=ROOT, env=environment(), check=False).returncode


def main(words: list[str]) -> int:
    """Run those wanted, or all; 1 when one failed, 2 when one does not exist."""
    if words[:1] == ["report"]:
        return report(words[1:])
    known = names()
    wanted = list(itertools.takewhile(known.__contains__, words))
    options = words[len(wanted) :]
    if options and not wanted:
        there = ", ".join(known)
        print(f"bench: there is no {options[0]}; there are {there}, report", file=sys.stderr)
        return 2
    failed = [name for name in wanted or known if not run(name, options)]
    if not wanted:
        report([])
    if failed:
        print(f"\nbench: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
