"""A supervisor asks; it hears whether the process is there, whether the house can be used, and all that is counted."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from . import bodies, wire
from .closing import SAYS
from .deps import Porch, PorchDep
from .replies import RETRY_AFTER
from .schema import SECONDS

router = APIRouter(tags=["health"])
# Bytes free below which nothing can be taken in safely: SQLite's journal and a page's caches need some.
ROOM = 64 * 1024 * 1024


@router.get("/livez", response_model=bodies.Alive)
async def livez() -> bodies.Alive:
    """The process is there."""
    return bodies.Alive()


@router.get(
    "/readyz", response_model=bodies.Ready, response_model_exclude_none=True, responses={503: {"model": bodies.Ready, "headers": SECONDS}}
)
async def readyz(porch: PorchDep) -> bodies.Ready | JSONResponse:
    """The model is loaded, the home is open and can be written to, the queue of uploads works, and the server is not stopping; else 503
    with the reason."""
    reason = await porch.look(unready, porch)
    if reason or porch.house is None:
        return JSONResponse({"ready": False, "reason": reason}, 503, {"Retry-After": str(round(RETRY_AFTER))})
    return bodies.Ready(ready=True, model=porch.house.backbone.name, verdict=wire.verdict(porch.house.verdict).word)


def unready(porch: Porch) -> str:
    """Why the house cannot be used now; "" where it can."""
    if porch.closing.begun:
        return SAYS
    if porch.house is None:
        return porch.reason
    home: Path = porch.house.workshop.home.root
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        return "the home cannot be written to: mend its owner or mode"
    if shutil.disk_usage(home).free < ROOM:
        return "there is no room left on the disk of the home: make room"
    if not porch.house.jobs.working:
        return "the queue of uploads has ended: start the server anew"
    return ""


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(porch: PorchDep) -> Response:
    """All that is counted, as Prometheus reads it."""
    return await porch.look(_metrics, porch)


def _metrics(porch: Porch) -> Response:
    from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

    parts = [generate_latest(porch.traffic.registry)]
    if porch.house is not None:
        parts.append(generate_latest(porch.house.watch.metrics.registry))
    return Response(b"".join(parts), media_type=CONTENT_TYPE_LATEST)
