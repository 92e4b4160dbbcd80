"""The JSON API: what the command line prints with `--json`, and whether the server is well."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from crivello.crawl import Status
from crivello.web.library import MAX_DEPTH, MAX_QUERY, Library

MAX_HITS = 100
"""In one answer."""


class FoundPage(BaseModel):
    """A page that matches."""

    url: str
    title: str | None
    score: float = Field(description="BM25; comparable within one answer.")
    snippet: str = Field(description="The passage that tells most, as plain text.")
    fetched_at: str = Field(description="ISO 8601, UTC.")
    lang: str | None = Field(description="The language that the page states.")


class Found(BaseModel):
    """What was found, best first."""

    query: str
    total: int = Field(description="Pages that match.")
    took_ms: float
    hits: list[FoundPage]


class Problem(BaseModel):
    """What was wrong."""

    error: str = Field(description="One line that says what, where and what to do.")
    position: int | None = Field(
        default=None, description="The character of the query, from 0, that cannot be read."
    )


class Health(BaseModel):
    """Whether the server can answer."""

    status: str


_PROBLEMS: dict[int | str, dict[str, Any]] = {
    422: {"model": Problem, "description": "A parameter is missing or out of its bounds."},
    503: {"model": Problem, "description": "It is not there yet; the error says what makes it."},
}


def api(library: Library) -> APIRouter:
    """The routes of the API for a crawl."""
    router = APIRouter(default_response_class=JSONResponse)

    @router.get(
        "/api/search",
        summary="Search the crawl",
        responses={
            200: {"model": Found, "description": "What was found."},
            400: {"model": Problem, "description": "The query cannot be read."},
            **_PROBLEMS,
        },
    )
    def search(
        q: Annotated[
            str,
            Query(min_length=1, max_length=MAX_QUERY, description="A query, as on the page."),
        ],
        k: Annotated[int, Query(ge=1, le=MAX_HITS, description="How many hits.")] = 10,
        offset: Annotated[
            int, Query(ge=0, le=MAX_DEPTH, description="How many of the best to pass over.")
        ] = 0,
    ) -> JSONResponse:
        """The pages that match, best first: the answer of `crivello search --json`."""
        return JSONResponse(library.search(q, k=k, offset=offset).as_json())

    @router.get(
        "/api/status",
        summary="How the crawl is doing",
        responses={
            200: {"model": Status, "description": "The status."},
            503: _PROBLEMS[503],
        },
    )
    def status() -> JSONResponse:
        """The answer of `crivello status --json`, while the crawl runs or afterwards."""
        return JSONResponse(library.status())

    @router.get(
        "/healthz",
        summary="Whether the server is well",
        responses={
            200: {"model": Health, "description": "It is well."},
            503: {"model": Health, "description": "The directory of the crawl is gone."},
        },
    )
    def healthz() -> JSONResponse:
        """200 while the crawl's directory is there, else 503."""
        there = library.is_there()
        return JSONResponse({"status": "ok" if there else "gone"}, 200 if there else 503)

    return router
