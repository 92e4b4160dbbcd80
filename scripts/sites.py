"""Real sites on loopback: HTML documentation of Debian, served by its nginx.

    python scripts/sites.py [test|small|full|PACKAGE]... [--port N]

Packages are downloaded by apt and unpacked below ~/.cache/crivello/sites; nothing is installed, and
what is there already needs no network. Each package is a virtual host `<package>.debian.docs`, and
`www.debian.docs` has one page that links to them all. The program prints one JSON line with `port`,
`seed_url`, `resolve` and `hosts`, and serves until it is interrupted:

    crivello crawl http://www.debian.docs:PORT/ -o docs --scope domain --delay 0 \\
        --resolve '*.debian.docs=127.0.0.1'
"""

from __future__ import annotations

import argparse
import fcntl
import html
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

CACHE = Path(os.environ.get("SITES_CACHE", Path.home() / ".cache/crivello/sites"))
DOMAIN = "debian.docs"
INDEXES = ("index.html", "index.htm", "index.xhtml", "contents.html", "intro.html")
SUFFIXES = (".html", ".htm", ".xhtml")
PATIENCE = 20.0

# Of many generators: AsciiDoc, BoostBook, javadoc, Texinfo, DocBook, Sphinx, and by hand.
TEST = (
    "git-doc",
    "libboost1.74-doc",
    "libcommons-lang3-java-doc",
    "octave-doc",
    "postgresql-doc-15",
    "python-django-doc",
    "python3.11-doc",
    "sqlite3-doc",
)
SMALL = (
    *TEST,
    "apache2-doc",
    "cppreference-doc-en-html",
    "libstdc++-12-doc",
    "lilypond-doc-html",
    "linux-doc-6.1",
    "qtbase5-doc-html",
)
FULL = (
    *SMALL,
    "bash-doc",
    "debian-handbook",
    "debian-policy",
    "debian-reference-en",
    "developers-reference",
    "erlang-doc",
    "gap-doc",
    "ghc-doc",
    "groovy-doc",
    "kicad-doc-en",
    "libeigen3-doc",
    "libglib2.0-doc",
    "libgtk-3-doc",
    "libgtk-4-doc",
    "libpcl-doc",
    "libsfml-doc",
    "llvm-14-doc",
    "nodejs-doc",
    "openjdk-17-doc",
    "python-pandas-doc",
    "python-scipy-doc",
    "python-sklearn-doc",
    "python-sqlalchemy-doc",
    "python-sympy-doc",
    "qt3d5-doc-html",
    "qtdeclarative5-doc-html",
    "qtmultimedia5-doc-html",
    "r-doc-html",
    "racket-doc",
    "rust-doc",
    "scala-doc",
    "wx3.2-doc",
)
SETS = {"test": TEST, "small": SMALL, "full": FULL}

CONFIGURATION = """\
daemon off;
{user}
worker_processes 1;
pid nginx.pid;
error_log stderr crit;
events {{ worker_connections 4096; multi_accept on; }}
http {{
  types {{
    text/html html htm;  application/xhtml+xml xhtml;  text/css css;  text/javascript js;
    text/plain txt;  text/xml xml;  application/rss+xml rss;  application/atom+xml atom;
    image/png png;  image/jpeg jpg jpeg;  image/gif gif;  image/svg+xml svg;
    application/pdf pdf;  application/gzip gz;
  }}
  default_type application/octet-stream;
  sendfile on;  tcp_nopush on;  tcp_nodelay on;
  keepalive_timeout 65;  keepalive_requests 100000000;
  open_file_cache max=12000 inactive=600s;  open_file_cache_valid 600s;  open_file_cache_errors on;
  server_names_hash_bucket_size 128;  absolute_redirect off;
  client_body_temp_path temp;  proxy_temp_path temp;  fastcgi_temp_path temp;
  scgi_temp_path temp;  uwsgi_temp_path temp;
  log_format pages
    '$host $status $connection $body_bytes_sent $sent_http_content_type $request_uri';
  access_log {log};
  server {{
    listen 127.0.0.1:{port} default_server backlog=4096;
    server_name www.{domain};  root start;
  }}
{servers}}}
"""
SERVER = """\
  server {{
    listen 127.0.0.1:{port};  server_name {host};  root "{root}";  index index.html index.htm;
  }}
"""


class SitesError(Exception):
    """The documentation or the server cannot be had on this machine; the text says why."""


@dataclass(frozen=True)
class Site:
    """A package as a virtual host; `starts` are its tables of contents, relative to `root`."""

    host: str
    package: str
    version: str
    root: str
    starts: list[str]
    html_files: int


@contextmanager
def _only_one() -> Iterator[None]:
    """Clones share the cache: one at a time fills it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _apt(*arguments: str, into: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["apt-get", "-q", *arguments], cwd=into, capture_output=True, text=True, check=False
    )


def _download(packages: Sequence[str], into: Path) -> None:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise SitesError("packages of Debian need apt-get and dpkg-deb, which are not here")
    # Only root can read and refresh all of apt's lists; a second look follows when they are stale.
    done = _apt("download", *packages, into=into)
    if done.returncode != 0:
        if os.geteuid() == 0:
            _apt("update", into=into)
        done = _apt("download", *packages, into=into)
    if done.returncode != 0:
        problem = next((line for line in done.stderr.splitlines() if line.startswith("E:")), "")
        raise SitesError(f"apt-get download {' '.join(packages)}: {problem or done.stderr}")


def unpacked(packages: Sequence[str]) -> dict[str, Path]:
    """The folders that hold what is in packages; those not in the cache are downloaded."""
    folders = {package: CACHE / package for package in packages}
    with _only_one():
        missing = [name for name, folder in folders.items() if not (folder / ".version").exists()]
        if missing:
            print(f"sites: downloading {', '.join(missing)}", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
                _download(missing, Path(scratch))
                for file in sorted(Path(scratch).glob("*.deb")):
                    _unpack(file, folders)
    return folders


def _unpack(file: Path, folders: dict[str, Path]) -> None:
    fields = ["dpkg-deb", "-f", str(file), "Package", "Version"]
    output = subprocess.check_output(fields, text=True)
    facts = dict(line.split(": ", 1) for line in output.splitlines())
    tree = file.with_suffix(".tree")
    subprocess.run(["dpkg-deb", "-x", str(file), str(tree)], check=True)
    (tree / ".version").write_text(facts["Version"], "utf-8")
    file.unlink()
    folder = folders[facts["Package"]]
    shutil.rmtree(folder, ignore_errors=True)
    tree.rename(folder)


def site(package: str, folder: Path) -> Site:
    """How a package is served: from the folder that its tables of contents have in common."""
    starts: list[tuple[str, str]] = []
    found: list[tuple[str, str]] = []
    for directory, below, names in os.walk(folder / "usr/share"):
        below.sort()
        pages = sorted(name for name in names if name.endswith(SUFFIXES))
        pages = [name for name in pages if (Path(directory) / name).is_file()]
        found += [(directory, name) for name in pages]
        inside = any(f"{directory}/".startswith(f"{start}/") for start, _ in starts)
        index = next((name for name in INDEXES if name in pages), None)
        if index and not inside:
            starts.append((directory, index))
    if not found:
        raise SitesError(f"{package} holds no HTML")
    root = os.path.commonpath([directory for directory, _ in starts or found])
    starts = starts or found[:1]
    return Site(
        host=f"{package.replace('+', 'p')}.{DOMAIN}",
        package=package,
        version=(folder / ".version").read_text("utf-8"),
        root=root,
        starts=[os.path.relpath(f"{directory}/{index}", root) for directory, index in starts],
        html_files=len(found),
    )


def nginx() -> str:
    """The server's program: the system's, or Debian's unpacked beside the sites."""
    found = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    return found or str(unpacked(["nginx"])["nginx"] / "usr/sbin/nginx")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Sites:
    """The sites of packages, served while the `with` block runs; `log` keeps an access log."""

    def __init__(self, packages: Sequence[str], *, port: int = 0, log: bool = False) -> None:
        folders = unpacked(packages)
        self.sites = [site(package, folders[package]) for package in sorted(packages)]
        self.port = port or _free_port()
        self.seed_url = f"http://www.{DOMAIN}:{self.port}/"
        self.resolve = [f"*.{DOMAIN}=127.0.0.1"]
        self._logged = log

    def __enter__(self) -> Sites:
        """Start the server and wait until it answers."""
        self._home = tempfile.TemporaryDirectory(prefix="crivello-sites-")
        self.home = Path(self._home.name)
        self.log = self.home / "access.log"
        (self.home / "temp").mkdir()
        (self.home / "start").mkdir()
        (self.home / "start/index.html").write_text(self._start_page(), "utf-8")
        configuration = self.home / "nginx.conf"
        configuration.write_text(self._configuration(), "utf-8")
        command = [nginx(), "-p", str(self.home), "-c", str(configuration), "-e", "stderr"]
        errors = (self.home / "errors").open("w")
        with errors:
            self._server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=errors)
        try:
            self._wait()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the server."""
        self.close()

    def close(self) -> None:
        """Stop the server and remove its folder."""
        self._server.terminate()
        self._server.wait()
        self._home.cleanup()

    def cpu_seconds(self) -> float:
        """What the server has used so far."""
        pids = (
            Path(f"/proc/{self._server.pid}/task/{self._server.pid}/children").read_text().split()
        )
        total = 0
        for pid in pids:
            fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")

    def hosts_file(self) -> str:
        """Lines of /etc/hosts, for crawlers that cannot be told names otherwise."""
        hosts = [f"www.{DOMAIN}", *(site.host for site in self.sites)]
        return "".join(f"127.0.0.1 {host}\n" for host in ["localhost", *hosts])

    def _wait(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            if self._server.poll() is not None or time.monotonic() > deadline:
                problem = (self.home / "errors").read_text("utf-8").strip()
                raise SitesError(f"nginx did not start: {problem}")
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.01)

    def _start_page(self) -> str:
        lines = ["<!doctype html><title>Documentation of Debian</title><ul>"]
        for each in self.sites:
            for start in each.starts:
                name = html.escape(f"{each.host}:{self.port}/{start}")
                lines.append(f'<li><a href="http://{name}">{name}</a>')
        return "\n".join([*lines, "</ul>", ""])

    def _configuration(self) -> str:
        servers = (SERVER.format(port=self.port, host=s.host, root=s.root) for s in self.sites)
        return CONFIGURATION.format(
            user="user root;" if os.geteuid() == 0 else "",
            log="access.log pages buffer=1m flush=1s" if self._logged else "off",
            port=self.port,
            domain=DOMAIN,
            servers="".join(servers),
        )


def main() -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="*", default=["test"], help="test, small, full or names")
    parser.add_argument("--port", type=int, default=0, help="a free one if not given")
    options = parser.parse_args()
    names = dict.fromkeys(name for word in options.packages for name in SETS.get(word, (word,)))
    try:
        with Sites(list(names), port=options.port) as sites:
            facts = {"port": sites.port, "seed_url": sites.seed_url, "resolve": sites.resolve}
            print(json.dumps({**facts, "hosts": list(map(asdict, sites.sites))}), flush=True)
            ends = {signal.SIGINT, signal.SIGTERM}
            signal.pthread_sigmask(signal.SIG_BLOCK, ends)
            signal.sigwait(ends)
    except SitesError as error:
        print(f"sites: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
