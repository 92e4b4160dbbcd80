"""The pages of `crivello serve`, as a person uses them in a browser."""

from __future__ import annotations

import re
import signal

import pytest
from commands import Command, until
from playwright.sync_api import Browser, Page, expect
from served import CHAPTERS, SCRIPT, Served, site
from small_web import SmallWeb

PATIENCE = 30_000


@pytest.fixture(autouse=True)
def patient() -> None:
    expect.set_options(timeout=PATIENCE)


def ask(page: Page, query: str) -> None:
    """Type a query into the box, as it has the focus."""
    page.keyboard.type(query)
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=*")


def test_a_query_that_is_typed_finds_a_page_and_what_is_stored_of_it(page, web):
    expect(page.get_by_role("searchbox", name="Search this crawl")).to_be_focused()
    ask(page, "sieve number7")
    expect(page.get_by_role("status")).to_contain_text("1 page")
    hit = page.get_by_role("article")
    expect(hit).to_have_count(1)
    link = hit.get_by_role("link", name="Chapter 7")
    assert link.get_attribute("href") == f"{web.root}/chapter/7"
    assert link.get_attribute("rel") == "noreferrer nofollow"
    expect(hit.locator(".snippet mark")).to_have_text(["sieve", "number7"])
    hit.get_by_role("link", name="stored text").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Chapter 7")
    expect(page.locator(".text")).to_contain_text("The sieve of chapter number7 lets")
    page.get_by_role("link", name=f"{web.root}/", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Contents")


def test_results_are_paged_through(page):
    ask(page, "title:chapter")
    seen: list[str] = []
    for number in (1, 2, 3):
        expect(page.locator(".numbers [aria-current]")).to_have_text(str(number))
        seen += page.locator(".hits h2").all_inner_texts()
        if number < 3:
            page.get_by_role("link", name="Next").click()
    assert sorted(seen) == sorted(f"Chapter {number}" for number in range(1, CHAPTERS + 1))
    page.get_by_role("link", name="Previous").click()
    expect(page.locator(".numbers [aria-current]")).to_have_text("2")
    page.go_back()
    expect(page.locator(".numbers [aria-current]")).to_have_text("3")


def test_a_query_that_cannot_be_read_is_shown_where_and_mended(page):
    ask(page, 'sieve "number7')
    expect(page.get_by_role("alert")).to_contain_text("character 7")
    expect(page.locator(".asked mark")).to_have_text('"')
    box = page.get_by_role("searchbox")
    expect(box).to_have_value('sieve "number7')
    expect(box).to_have_attribute("aria-invalid", "true")
    box.fill('sieve "number7"')
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("status")).to_contain_text("1 page in")


def test_a_query_without_hits_says_so(page):
    ask(page, "nowheretobefound")
    expect(page.get_by_role("status")).to_have_text("No page holds nowheretobefound.")


def test_the_slash_key_leads_to_the_box(page):
    ask(page, "title:chapter")
    box = page.get_by_role("searchbox")
    expect(box).not_to_be_focused()
    page.keyboard.press("/")
    expect(box).to_be_focused()
    page.keyboard.type("sieve/filter")
    expect(box).to_have_value("sieve/filter")


def test_what_a_hostile_page_says_stays_text(page):
    ask(page, "hostility")
    heading = page.locator(".hits h2")
    expect(heading).to_have_text(f'A {SCRIPT} "title"')
    expect(page.locator(".snippet")).to_contain_text(
        "<img src=x onerror=\"document.title='owned'\">"
    )
    assert heading.get_attribute("lang") is None
    page.get_by_role("link", name="stored text").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f'A {SCRIPT} "title"')
    expect(page.locator(".text")).to_contain_text("<img src=x onerror")
    assert page.locator("main script, main img").count() == 0
    assert "owned" not in page.title().replace(SCRIPT, "")
    box = page.get_by_role("searchbox")
    box.fill(f'"{SCRIPT}')
    box.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    assert page.title().startswith(f'"{SCRIPT} · ')


def test_search_and_status_work_without_scripts(browser: Browser, served: Served):
    context = browser.new_context(base_url=served.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/")
    page.get_by_role("searchbox").fill("sieve number7")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("article")).to_have_count(1)
    page.get_by_role("link", name="Status").click()
    expect(page.locator(".badge")).to_have_text("finished")
    assert page.locator("meta[http-equiv=refresh]").get_attribute("content") == "10"
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/?q=sieve", "/?q=(", "/status", "/api"])
def test_pages_fit_a_narrow_screen_and_can_be_read(browser, served, scheme, path):
    context = browser.new_context(
        base_url=served.url, viewport={"width": 320, "height": 640}, color_scheme=scheme
    )
    page = context.new_page()
    page.goto(path)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    for selector in ("body", ".top nav a", "main p"):
        for element in page.locator(selector).all():
            assert element.evaluate(CONTRAST) >= 4.5, (selector, element.inner_text())
    context.close()


CONTRAST = """
element => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const linear = [r, g, b].map(v => v / 255)
      .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  let behind = element;
  while (behind.parentElement && numbers(getComputedStyle(behind).backgroundColor)[3] === 0)
    behind = behind.parentElement;
  const pair = [light(numbers(getComputedStyle(element).color)),
                light(numbers(getComputedStyle(behind).backgroundColor))].sort((a, b) => b - a);
  return (pair[0] + 0.05) / (pair[1] + 0.05);
}
"""


def test_the_status_page_follows_a_crawl_that_runs_to_its_end(browser, tmp_path):
    command = Command(tmp_path)
    with SmallWeb(site(150)) as web:
        running = command.start("crawl", f"{web.root}/", "-o", "crawl", "--delay", "0.1")
        until((tmp_path / "crawl/agents/0/status.json").exists, "the crawl has begun")
        with Served(command, "crawl") as served:
            page = browser.new_context(base_url=served.url).new_page()
            page.goto("/status")
            expect(page.locator(".badge")).to_have_text("running")
            stored = page.locator(".tiles dd").first
            first = int(stored.inner_text())
            expect(stored).not_to_have_text(str(first))
            assert int(stored.inner_text()) > first
            expect(page.locator("figure rect").first).to_be_attached()
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=60)
            expect(page.locator(".badge")).to_have_text(re.compile("stopped|interrupted"))
            served.end()
            expect(page.locator("#lost")).to_be_visible()
            page.context.close()
