"""Settings go in; a FastAPI application comes out. Nothing is loaded before its life begins, and it is alive before it is ready."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse
from starlette.staticfiles import StaticFiles

from cache_compiler.errors import CacheError
from ingest.errors import IngestError
from renderer.errors import RendererError
from retrieval.errors import RetrievalError

from . import replies, schema
from .deps import House, Porch
from .doors import Doors
from .entrance import Entrance
from .errors import AppError, known
from .gauges import Gauges
from .health import router as health
from .routes import router
from .settings import Settings
from .tracing import tracing

WEB = Path(__file__).resolve().parent.parent / "web"
# FastAPI would send spans of its own where the environment asks for it, with whole paths; ids in paths may be secrets.
QUIET: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
log = logging.getLogger("quire.http")


def load_house(settings: Settings) -> House:
    """House.open, imported when it is called: it brings torch with it."""
    from .house import House

    return House.open(settings)


def create_app(
    settings: Settings, house_factory: Callable[[Settings], House] = load_house, on_failure: Callable[[Exception], None] = lambda _: None
) -> FastAPI:
    """The HTTP front of a house that `house_factory` opens in the background; `on_failure` hears why it could not."""
    porch = Porch(tracing(settings.otel) if settings.otel else None)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        opening = asyncio.create_task(_open(porch, settings, house_factory, on_failure))
        yield
        # A thread cannot be called off: what is being loaded is loaded, and then closed.
        await opening
        if porch.house is not None:
            await asyncio.to_thread(porch.house.close)
        await asyncio.to_thread(porch.traces.close)

    # No /docs: its page would load scripts from elsewhere. /openapi.json is complete.
    # No redirects to addresses without a slash: they would lose what was posted, and an address that there is not says so.
    app = FastAPI(title="Quire", version=_version(), lifespan=life, docs_url=None, redoc_url=None, redirect_slashes=False, telemetry=QUIET)
    app.openapi = lambda: schema.complete(app, settings)  # type: ignore[method-assign]
    app.state.settings, app.state.porch = settings, porch
    for kind in (AppError, CacheError, IngestError, RendererError, RetrievalError, OSError):
        app.add_exception_handler(kind, replies.on_error)
    app.add_exception_handler(HTTPException, replies.on_http_error)
    app.add_exception_handler(RequestValidationError, replies.on_invalid)
    app.add_middleware(
        Doors, settings=settings, entrance=Entrance(settings), closing=porch.closing, traffic=porch.traffic, traces=porch.traces
    )
    app.include_router(health)
    app.include_router(router)
    if (WEB / "index.html").is_file():
        app.add_api_route("/", _index, include_in_schema=False)
        app.mount("/static", _Static(directory=WEB), name="static")
    else:
        log.warning("%s has no index.html: there is the HTTP interface, but no page", WEB)
    return app


async def _open(
    porch: Porch, settings: Settings, house_factory: Callable[[Settings], House], on_failure: Callable[[Exception], None]
) -> None:
    house = None
    try:
        house = await asyncio.to_thread(house_factory, settings)
        house.jobs.start()
        house.keeper.start()
    except Exception as error:
        if house is not None:
            # It was opened and nobody will have it: its threads and files would stay for as long as the process does.
            await asyncio.to_thread(house.close)
        found = known(error)
        porch.reason = str(found) if found else "the house could not be opened; the server's log says why"
        log.error("not ready: %s", porch.reason, exc_info=None if found else error)
        on_failure(error)
    else:
        house.watch.traces = porch.traces
        house.watch.metrics.add(Gauges(house))
        porch.house = house
        log.info("ready")


async def _index() -> FileResponse:
    return FileResponse(WEB / "index.html", headers={"Cache-Control": "no-cache"})


class _Static(StaticFiles):
    """The page's files; a browser asks each time whether they changed, so that a new version is seen at once."""

    def file_response(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        return response


def _version() -> str:
    try:
        return version("quire")
    except PackageNotFoundError:
        return "0"
