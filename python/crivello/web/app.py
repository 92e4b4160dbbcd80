"""The application of `crivello serve`: the routes put together, and how errors are told.

`crivello.web.guard` stands before it.
"""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from crivello import __version__
from crivello.errors import Error, UsageError
from crivello.search import QueryError
from crivello.web import view
from crivello.web.api import api
from crivello.web.library import Library, NotHereError, NotYetError
from crivello.web.pages import pages

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

_STATUS: tuple[tuple[type[Error], int], ...] = (
    (NotYetError, 503),
    (NotHereError, 404),
    (UsageError, 400),
)

_SILENT: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""What is searched is told to nobody, whatever the environment says."""


def make_app(directory: Path) -> FastAPI:
    """The application for the crawl in a directory."""
    library = Library(directory)
    templates = view.environment()
    app = FastAPI(
        title="crivello",
        summary=f"Search the crawl {library.name}, and see how it is doing.",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,  # these load their scripts from a foreign host; /api is ours
        redoc_url=None,
        telemetry=_SILENT,
        redirect_slashes=False,
    )
    app.include_router(pages(library, templates))
    app.include_router(api(library))
    app.mount("/static", StaticFiles(directory=view.HERE / "static"))

    def answer(request: Request, problem: str, code: int, position: int | None) -> Response:
        if request.url.path.startswith("/api/"):
            told: dict[str, object] = {"error": problem}
            return JSONResponse(told | ({} if position is None else {"position": position}), code)
        facts = {"crawl": library.name, "problem": problem, "title": HTTPStatus(code).phrase}
        return HTMLResponse(templates.get_template("error.html").render(facts), code)

    @app.exception_handler(Error)
    def of_ours(request: Request, error: Error) -> Response:
        code = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
        at = error.position if isinstance(error, QueryError) else None
        return answer(request, str(error), code, at)

    @app.exception_handler(RequestValidationError)
    def of_parameters(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        return answer(request, f"{first['loc'][-1]}: {first['msg']}", 422, None)

    @app.exception_handler(HTTPException)
    def of_requests(request: Request, error: HTTPException) -> Response:
        problem = "there is no such page" if error.status_code == 404 else str(error.detail)
        return answer(request, problem, error.status_code, None)

    @app.exception_handler(Exception)
    def of_the_server(request: Request, _error: Exception) -> Response:
        return answer(request, "an error of the server; its terminal says which", 500, None)

    return app
