"""The pages for people: search, what is stored of a URL, status, the API's documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, PlainTextResponse

from crivello.errors import UsageError
from crivello.search import QueryError
from crivello.web.library import MAX_DEPTH, Library, NotYetError

if TYPE_CHECKING:
    from jinja2 import Environment

PAGE_HITS = 10
MAX_TEXT = 100_000
"""Characters of a stored text that are shown."""
LIVE_SECONDS, CALM_SECONDS = 2, 10
"""How often the status page asks, while the crawl runs and afterwards."""


def pages(library: Library, templates: Environment) -> APIRouter:
    """The routes of the pages for a crawl."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    def render(template: str, code: int = 200, /, **facts: Any) -> HTMLResponse:  # noqa: ANN401
        page = templates.get_template(template).render(crawl=library.name, **facts)
        return HTMLResponse(page, code)

    @router.api_route("/", methods=["GET", "HEAD"])
    def search(
        q: Annotated[str, Query()] = "", page: Annotated[str, Query()] = "1"
    ) -> HTMLResponse:
        query, number = q.strip(), _page_number(page)
        if not query:
            return render("home.html", index=library.index(), directory=library.directory)
        facts: dict[str, Any] = {"query": query, "number": number, "results": None}
        try:
            results = library.search(query, k=PAGE_HITS, offset=(number - 1) * PAGE_HITS)
        except QueryError as error:
            return render("search.html", 400, problem=str(error), at=error.position, **facts)
        except UsageError as error:
            return render("search.html", 400, problem=str(error), at=None, **facts)
        except NotYetError as error:
            return render("search.html", 503, problem=str(error), at=None, **facts)
        facts["results"] = results
        shown = min(results.total, MAX_DEPTH)
        numbers = _page_numbers(number, -(-shown // PAGE_HITS))
        return render("search.html", problem=None, at=None, numbers=numbers, **facts)

    @router.api_route("/page", methods=["GET", "HEAD"])
    def page(url: Annotated[str, Query()] = "") -> HTMLResponse:
        record = library.record(url)
        return render("page.html", record=record, archive=library.archive, most=MAX_TEXT)

    @router.api_route("/status", methods=["GET", "HEAD"])
    def status() -> HTMLResponse:
        return render("status.html", **_status())

    @router.get("/status/live")
    def live() -> HTMLResponse:
        """The part of the status page that changes."""
        return render("live.html", **_status())

    def _status() -> dict[str, Any]:
        settings = library.settings()
        try:
            facts = library.status()
        except NotYetError as error:
            return {"status": None, "problem": str(error), "every": LIVE_SECONDS}
        works = facts["state"] in ("running", "indexing")
        return {
            "status": facts,
            "overview": library.overview(facts),
            "index": library.index(),
            "directory": library.directory,
            "seeds": settings.crawl.seeds,
            "max_pages": settings.crawl.max_pages,
            "works": works,
            "every": LIVE_SECONDS if works else CALM_SECONDS,
        }

    @router.api_route("/api", methods=["GET", "HEAD"])
    def api(request: Request) -> HTMLResponse:
        return render("api.html", schema=request.app.openapi(), base=str(request.base_url))

    @router.get("/robots.txt")
    def robots() -> PlainTextResponse:
        return PlainTextResponse("User-agent: *\nDisallow: /\n")

    return router


def _page_number(text: str) -> int:
    """The number of a page of results; the first for what is none."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 8 else 1
    return min(max(number, 1), MAX_DEPTH // PAGE_HITS)


def _page_numbers(here: int, last: int) -> list[int]:
    """The pages to offer: up to nine around this one.

    >>> _page_numbers(7, 40)
    [3, 4, 5, 6, 7, 8, 9, 10, 11]
    """
    first = max(1, min(here - 4, last - 8))
    return list(range(first, min(last, first + 8) + 1))
