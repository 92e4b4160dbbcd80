"""A browser for the tests, and a crawl that is served to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import Command
from playwright.sync_api import Browser, Page, sync_playwright
from served import Served, crawl, site
from small_web import SmallWeb


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        if os.geteuid() == 0:  # the set-up could have installed it
            pytest.fail("chromium is missing: scripts/setup.sh --programs installs it")
        pytest.skip("chromium is missing: install Debian's package of that name")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    return Command(tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="session")
def web() -> Iterator[SmallWeb]:
    with SmallWeb(site()) as web:
        yield web


@pytest.fixture(scope="session")
def directory(command: Command, web: SmallWeb) -> Path:
    return crawl(command, web)


@pytest.fixture(scope="session")
def served(command: Command, directory: Path) -> Iterator[Served]:
    with Served(command, directory) as served:
        yield served


@pytest.fixture
def page(browser: Browser, served: Served) -> Iterator[Page]:
    """A tab on the search page; to load from elsewhere, or to break a rule, is an error."""
    context = browser.new_context(base_url=served.url)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(f"script: {error}"))
    page.on("console", lambda told: _note(told.type, told.text, wrong))
    page.on("request", lambda asked: _outside(asked.url, served.url, wrong))
    page.goto("/")
    yield page
    context.close()
    assert wrong == []


def _note(kind: str, text: str, wrong: list[str]) -> None:
    if kind == "error" and "the server responded with a status of" not in text:
        wrong.append(f"console: {text}")


def _outside(url: str, own: str, wrong: list[str]) -> None:
    if not url.startswith(f"{own}/"):
        wrong.append(f"loaded: {url}")
