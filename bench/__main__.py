"""Run benchmarks one after another: `python -m bench [NAME...]`, after `make release`.

Each file of this folder answers one question and is a program of its own, `python -m bench.NAME`.
What it prints goes to the screen and, under a head that says on what it was measured, to
`bench/out/NAME.txt`.
"""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
OUT = HERE / "out"
PACKAGES = ("crivello", "pyarrow", "selectolax", "protego", "fastwarc", "warcio")


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


def versions() -> str:
    """Of Python, of crivello with its commit, and of the peers."""
    found = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    git = ["git", "describe", "--always", "--dirty"]
    commit = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False)
    return ", ".join([*found, f"commit {commit.stdout.strip() or 'unknown'}"])


def build() -> str:
    """Which build of the extension is measured; figures count from `release` only."""
    try:
        return (ROOT / ".venv" / ".profile").read_text("utf-8").strip()
    except OSError:
        return "unknown"


def environment() -> dict[str, str]:
    """With the cargo that builds crivello in front, for kernels measured in Rust."""
    setup = [ROOT / "scripts" / "setup.sh", "--cargo"]
    cargo = Path(subprocess.check_output(setup, text=True).strip())
    return {**os.environ, "PATH": f"{cargo.parent}{os.pathsep}{os.environ.get('PATH', '')}"}


def run(name: str) -> bool:
    """Run one benchmark in sight, keep what it says; whether it succeeded."""
    head = [
        f"command   python -m bench.{name}",
        f"machine   {machine()}",
        f"versions  {versions()}",
        f"build     {build()}",
        f"date      {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC",
    ]
    print(f"\n== {name}", *head, "", sep="\n", flush=True)
    OUT.mkdir(exist_ok=True)
    with (OUT / f"{name}.txt").open("w", encoding="utf-8") as out:
        out.write("\n".join([*head, "", ""]))
        command = [sys.executable, "-u", "-m", f"bench.{name}"]
        with subprocess.Popen(
            command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True
        ) as process:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                out.write(line)
        if process.returncode != 0:
            out.write(f"\nfailed with exit code {process.returncode}\n")
    return process.returncode == 0


def main(wanted: list[str]) -> int:
    """Run those wanted, or all; 1 when one failed, 2 when one does not exist."""
    known = names()
    unknown = [name for name in wanted if name not in known]
    if unknown:
        there = ", ".join(known)
        print(f"bench: there is no {', '.join(unknown)}; there are {there}", file=sys.stderr)
        return 2
    failed = [name for name in wanted or known if not run(name)]
    if failed:
        print(f"\nbench: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
