"""How fast is a site crawled, beside other crawlers?

    python -m bench crawlers [--pages test|small|full] [--runs 3] [--only 'NAME;...']

The site is HTML documentation of Debian behind one nginx on loopback (`scripts/sites.py`), a host a
package, and one page that links to all. Every crawler starts there, follows `a` and `area` to any
URL of these hosts, waits for nothing, and has as many connections as serve it best. What it has
fetched is read from the server's log and compared with an independent traversal
(`scripts/traversal.py`) before any speed is told: pages are answers 200 of HTML. A page counts
once. Time is from start to end of the process; CPU time and peak memory are of the crawler alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bench._figures import Figures, spread
from scripts.sites import CACHE, DOMAIN, SETS, Sites, unpacked
from scripts.traversal import Client, traverse

ROOT = Path(__file__).parent.parent
LIMIT = 1800.0
LIBRARIES = ("usr/lib", "usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")
WRK = """\
local requests, n = {}, 0
for line in io.lines("URLS") do
  local host, path = line:match("^(%S+) (%S+)$")
  requests[#requests + 1] = "GET " .. path .. " HTTP/1.1\\r\\nHost: " .. host .. "\\r\\n\\r\\n"
end
function request() n = n % #requests + 1; return requests[n] end
"""


@dataclass
class Setting:
    """What a crawler is told: the sites, and a folder for its files."""

    sites: Sites
    folder: Path
    programs: dict[str, Path] = field(default_factory=dict)

    def program(self, package: str, *libraries: str) -> list[str]:
        """A program of Debian's, the system's or unpacked into the cache."""
        if found := shutil.which(package):
            return [found]
        folders = unpacked([package, *libraries]).values()
        paths = ":".join(str(folder / part) for folder in folders for part in LIBRARIES)
        return [
            "env",
            f"LD_LIBRARY_PATH={paths}",
            str(unpacked([package])[package] / "usr/bin" / package),
        ]

    def named(self, *command: str) -> list[str]:
        """The command where the hosts' names lead to loopback: an /etc/hosts of its own."""
        hosts = self.folder / "hosts"
        hosts.write_text(self.sites.hosts_file(), "utf-8")
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        script = 'mount --bind "$0" /etc/hosts && exec "$@"'
        return ["unshare", *user, "--mount", "sh", "-c", script, str(hosts), *command]


def crivello(setting: Setting, *options: str) -> list[str]:
    command = [str(ROOT / ".venv/bin/crivello"), "crawl", setting.sites.seed_url]
    command += ["-o", str(setting.folder / "crawl"), "--scope", "domain", "--delay", "0"]
    command += ["--follow", "a,area,redirect", "--resolve", *setting.sites.resolve]
    return [*command, *options]


def wget2(setting: Setting) -> list[str]:
    program = setting.program("wget2", "libwget0", "libgpgme11", "libassuan0")
    # Free to ask for what is not HTML it stalls for minutes: it may ask for pages and folders only,
    # which saves it requests that others make.
    pages = rf"^http://[^/]*\.{re.escape(DOMAIN)}:[0-9]+/([^?#]*/)?([^/?#]*\.x?html?)?([?#].*)?$"
    return setting.named(
        *program, "--quiet", "--no-config", "--recursive", "--level=inf", "--span-hosts",
        f"--domains={DOMAIN}", "--no-robots", "--max-threads=16", "--tries=1", "--delete-after",
        "--filter-urls", f"--accept-regex={pages}", f"--directory-prefix={setting.folder}",
        setting.sites.seed_url,
    )  # fmt: skip


def script(setting: Setting, name: str, *arguments: str) -> list[str]:
    path = str(ROOT / "bench/peers" / name)
    return setting.named(sys.executable, path, setting.sites.seed_url, DOMAIN, *arguments)


CRAWLERS: dict[str, Callable[[Setting], list[str]]] = {
    "crivello, archive and index": crivello,
    "crivello, archive": lambda setting: crivello(setting, "--no-index"),
    "crivello, links only": lambda setting: crivello(setting, "--no-index", "--store", "none"),
    "wget2": wget2,
    "pycurl + selectolax": lambda setting: script(setting, "curl.py", "16"),
    "Scrapy + selectolax": lambda setting: script(setting, "spider.py", "32", "selectolax"),
    "Scrapy": lambda setting: script(setting, "spider.py", "32", "linkextractor"),
}
# Ours, theirs, and the ratio of pages/s that is aimed at.
RATIOS = [
    ("crivello, archive", "Scrapy", 10.0),
    ("crivello, archive", "Scrapy + selectolax", 9.0),
    ("crivello, archive", "pycurl + selectolax", None),
    ("crivello, links only", "wget2", 1.3),
    ("crivello, links only", "pycurl + selectolax", None),
    ("crivello, links only", "Scrapy", None),
]


def key(url: str) -> str:
    """A URL without its port, and without regard to how it is escaped."""
    parts = urlsplit(url)
    return f"{parts.hostname}{unquote(parts.path)}{'?' + parts.query if parts.query else ''}"


def truth(sites: Sites) -> set[str]:
    """The pages that there are; kept in the cache for the same versions of the same packages."""
    versions = json.dumps([[site.host, site.version, site.starts] for site in sites.sites])
    code = (ROOT / "scripts/traversal.py").read_bytes()
    name = hashlib.blake2b(versions.encode() + code, digest_size=8).hexdigest()
    path = CACHE / f"truth-{name}.json"
    if not path.exists():
        print("finding out which pages there are, which takes minutes the first time", flush=True)
        found = traverse(
            sites.seed_url,
            sites.port,
            lambda url: f".{urlsplit(url).hostname}".endswith(f".{DOMAIN}"),
            elements=("a", "area"),
        )
        pages = [
            key(url) for url, a in found.items() if (a.status, a.mime) == (200, "text/html")
        ]  # fmt: skip
        path.with_suffix(".new").write_text(json.dumps(sorted(pages)), "utf-8")
        path.with_suffix(".new").rename(path)
    return set(json.loads(path.read_text("utf-8")))


class Log:
    """The server's log, read from where it was when a crawler began."""

    def __init__(self, sites: Sites) -> None:
        self.sites = sites
        self.mark = 0

    def requests(self) -> Iterator[tuple[int, str, int, str]]:
        """Status, URL, bytes and type of what was asked since the last call."""
        # The server writes once a second: its log is whole up to here when it has our own request.
        self.mark += 1
        last = f"/last-of-run-{self.mark}"
        offset = self.sites.log.stat().st_size if self.mark == 1 else self._offset
        Client(self.sites.port).get(f"http://www.{DOMAIN}:{self.sites.port}{last}")
        while last not in (text := self._since(offset)):
            time.sleep(0.05)
        self._offset = offset + len(text.encode())
        for line in text.splitlines():
            host, status, _, size, rest = line.split(" ", 4)
            mime, _, uri = rest.partition(" /")
            if f"/{uri}" != last:
                yield int(status), f"http://{host}/{uri}", int(size), mime

    def _since(self, offset: int) -> str:
        with self.sites.log.open("rb") as file:
            file.seek(offset)
            return file.read().decode("utf-8", "backslashreplace")


def run(name: str, sites: Sites, log: Log, expected: set[str]) -> dict[str, float]:
    """One crawl; complains of pages missed, asked too much or more than once."""
    with tempfile.TemporaryDirectory(prefix="crivello-bench-") as folder:
        setting = Setting(sites, Path(folder))
        command = CRAWLERS[name](setting)
        measure = [sys.executable, "-I", "-S", str(ROOT / "bench/_measure.py"), str(LIMIT)]
        served = sites.cpu_seconds()
        with (setting.folder / "errors").open("w") as errors:
            output = subprocess.check_output(
                [*measure, *command], text=True, stderr=errors, cwd=folder
            )
        served = sites.cpu_seconds() - served
        figures = json.loads(output)
        complaint = (setting.folder / "errors").read_text("utf-8", "replace")[-2000:]
    pages, requests, received = Counter[str](), 0, 0
    for status, url, size, mime in log.requests():
        requests += 1
        received += size
        if status == 200 and mime == "text/html":
            pages[key(url)] += 1
    missed, extra = expected - pages.keys(), pages.keys() - expected
    if not pages:
        raise SystemExit(f"bench: {name} fetched nothing (exit {figures['exit']}): {complaint}")
    figures |= {
        "pages": len(pages),
        "missed": len(missed),
        "extra": len(extra),
        "twice": sum(count - 1 for count in pages.values()),
        "requests": requests,
        "pages_per_s": len(pages) / figures["wall"],
        "cpu_ms_per_page": figures["cpu"] / len(pages) * 1e3,
        "mb_per_s": received / figures["wall"] / 1e6,
        "server_cpu_s": served,
    }
    print(
        f"{name:22} {len(pages):>7,} pages, {figures['pages_per_s']:>7,.0f}/s,"
        f" CPU {figures['cpu_ms_per_page']:6.3f} ms a page, {figures['memory'] >> 20:>5} MiB"
    )
    for what, urls in (("misses", missed), ("asks beyond", extra)):
        if urls:
            print(f"{'':22} {what} {len(urls)}: {', '.join(sorted(urls)[:3])} …")
    return figures


def floor(sites: Sites, expected: set[str], seconds: int) -> float:
    """Requests a second of wrk, which reads nothing: the floor of fetching."""
    with tempfile.TemporaryDirectory(prefix="crivello-bench-") as folder:
        urls, lua = Path(folder, "urls"), Path(folder, "requests.lua")
        lines = (each.split("/", 1) for each in sorted(expected) if re.fullmatch(r"\S+", each))
        urls.write_text("".join(f"{host}:{sites.port} /{path}\n" for host, path in lines), "utf-8")
        lua.write_text(WRK.replace("URLS", str(urls)), "utf-8")
        program = Setting(sites, Path(folder)).program(
            "wrk", "libluajit-5.1-2", "libluajit-5.1-common"
        )
        command = [*program, "-t1", "-c16", f"-d{seconds}s", "-s", str(lua)]
        command.append(f"http://127.0.0.1:{sites.port}/")
        output = subprocess.check_output(command, text=True)
    return float(re.search(r"Requests/sec:\s*([\d.]+)", output)[1])  # type: ignore[index]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench crawlers", description=__doc__)
    parser.add_argument("--pages", choices=SETS, default="small", help="which packages [small]")
    parser.add_argument("--runs", type=int, default=3, help="repetitions of each crawler [3]")
    parser.add_argument("--only", default=";".join(CRAWLERS), help="some of the crawlers")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # not without stopping the server
    wanted = [name for name in CRAWLERS if name in options.only.split(";")]
    with Sites(SETS[options.pages], log=True) as sites:
        expected = truth(sites)
        log = Log(sites)
        list(log.requests())
        figures = Figures(
            "crawlers",
            "How fast is a site crawled, beside other crawlers?",
            corpus=f"Debian's documentation, {len(expected):,} pages of {len(sites.sites)} packages"
            f" ({options.pages}), nginx on the same machine",
            packages=["scrapy", "selectolax", "pycurl"],
        )
        wget = Setting(sites, Path()).program("wget2", "libwget0", "libgpgme11", "libassuan0")
        version = subprocess.check_output([*wget, "--version"], text=True).split(" - ")[0]
        figures.peers["wget2"] = version.removeprefix("GNU Wget2 ")
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in wanted}
        for _ in range(options.runs):
            for name in wanted:
                runs[name].append(run(name, sites, log, expected))
        reach = floor(sites, expected, 5)
    figures.table(
        "Right before fast",
        [
            {"crawler": name, **{
                column: spread([each[column] for each in runs[name]])
                for column in ("pages", "missed", "extra", "twice", "requests")
            }}
            for name in wanted
        ],
        f"there are {len(expected):,} pages; all other requests are for what is not HTML or not"
        " there, for which wget2 may not ask",
    )  # fmt: skip
    columns = {
        "pages/s": "pages_per_s",
        "CPU ms/page": "cpu_ms_per_page",
        "MB/s": "mb_per_s",
        "wall s": "wall",
        "server CPU s": "server_cpu_s",
    }
    figures.table(
        "Whole crawls",
        [
            {
                "crawler": name,
                **{title: spread([r[k] for r in runs[name]]) for title, k in columns.items()},
                "peak MiB": spread([r["memory"] / (1 << 20) for r in runs[name]]),
            }
            for name in wanted
        ],
        f"{options.runs} runs each, in turn; wrk with one thread, which reads nothing, makes"
        f" {reach:,.0f} requests/s",
    )
    for ours, theirs, target in RATIOS:
        if runs.get(ours) and runs.get(theirs):
            for title, column, turn in (
                ("pages/s", "pages_per_s", False),
                ("CPU a page", "cpu_ms_per_page", True),
            ):
                pair = [spread([each[column] for each in runs[name]]) for name in (ours, theirs)]
                figures.ratio(
                    f"{title}: {ours} ÷ {theirs}",
                    *(reversed(pair) if turn else pair),
                    target=None if turn else target,
                )
    figures.finish()


if __name__ == "__main__":
    main()
