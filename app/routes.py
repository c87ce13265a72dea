"""All routes of the product: the model here; what the house holds and what it answers in the files beside."""

from __future__ import annotations

from fastapi import APIRouter

from . import bodies, wire
from .deps import HouseDep, SettingsDep
from .routes_ask import router as answers
from .routes_collections import router as collections
from .routes_documents import router as documents
from .routes_jobs import router as jobs
from .routes_openai import router as openai
from .routes_pages import router as pages
from .routes_stats import router as stats
from .schema import EVERYWHERE, problems

router = APIRouter(prefix="/v1", responses=problems(*EVERYWHERE))
house = APIRouter(tags=["house"])


@house.get("/model", response_model=bodies.Model, operation_id="get_model")
def model(house: HouseDep, settings: SettingsDep) -> bodies.Model:
    """What is loaded, and what it can and cannot answer."""
    workshop = house.workshop
    house.spared.wanted()  # whoever looks at the model will ask next
    return bodies.Model(
        name=house.backbone.name,
        says=house.backbone.card.says,
        style=workshop.style.name,
        dpis=list(workshop.dpis),
        family=workshop.identity.model,
        identity=workshop.identity.as_mapping(),
        embedder=workshop.embedder.name,
        verdict=wire.verdict(house.verdict),
        limits=bodies.ModelLimits(
            file_bytes=settings.file_bytes,
            question_chars=settings.question_chars,
            top_k=bodies.TOP_K,
            upload_bytes=settings.upload_bytes,
            request_files=settings.request_files,
            text_chars=settings.text_chars,
        ),
    )


for part in (house, stats, collections, documents, jobs, pages, answers, openai):
    router.include_router(part)
