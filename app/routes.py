"""All routes: health and the model here; documents and answers in the files beside; the page itself from web/."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import JSONResponse

from . import bodies, wire
from .deps import HouseDep, PorchDep, SettingsDep
from .routes_ask import router as answers
from .routes_documents import router as documents

router = APIRouter(
    prefix="/v1",
    # What any route may answer besides its own; the sentences say what to do.
    responses={code: {"model": bodies.ErrorBody} for code in (404, 409, 413, 422, 503)}
)
router.include_router(documents)
router.include_router(answers)
health = APIRouter(tags=["health"])


@health.get("/livez", response_model=bodies.Alive)
async def livez() -> bodies.Alive:
    """The process is there."""
    return bodies.Alive()


@health.get("/readyz", response_model=bodies.Ready, response_model_exclude_none=True, responses={503: {"model": bodies.Ready}})
async def readyz(porch: PorchDep) -> bodies.Ready | JSONResponse:
    """The model is loaded and the home is open; until then 503 with the reason."""
    if porch.house is None:
        return JSONResponse({"ready": False, "reason": porch.reason}, 503, {"Retry-After": "2"})
    return bodies.Ready(ready=True, model=porch.house.backbone.name, verdict=wire.verdict(porch.house.verdict).word)


@router.get("/model", response_model=bodies.Model, tags=["model"])
def model(house: HouseDep, settings: SettingsDep) -> bodies.Model:
    """What is loaded, and what it can and cannot answer."""
    workshop = house.workshop
    return bodies.Model(
        name=house.backbone.name,
        says=house.backbone.card.says,
        style=workshop.style.name,
        dpis=list(workshop.dpis),
        family=workshop.identity.model,
        identity=workshop.identity.as_mapping(),
        embedder=workshop.embedder.name,
        verdict=wire.verdict(house.verdict),
        limits=bodies.ModelLimits(file_bytes=settings.file_bytes, question_chars=settings.question_chars, top_k=bodies.TOP_K),
    )
