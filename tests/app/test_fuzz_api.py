"""Requests drawn from /openapi.json, sound ones and broken ones: every answer is one that the schema declares, and none is a fault of ours.

Few and always the same here; docs/fuzzing.md has the command for a long campaign over the same application.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks

from app.main import create_app
from app.settings import Settings

# The one never ends by itself, so no client can wait for its last byte; the other says, truly, that nobody takes up what is queued here.
LEFT_OUT = ("/v1/jobs/events", "/readyz")
HELD = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]
OPERATIONS = sorted(
    (path, method)
    for path, operations in create_app(Settings(home=Path("nowhere"))).openapi()["paths"].items()
    for method in operations
    if path not in LEFT_OUT
)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory, records: tuple[Path, ...]) -> Iterator[Any]:
    """The schema of an application over a home of its own: requests here delete what they find."""
    from app.house import House
    from ingest.pipeline import ingest

    chosen = Settings(home=tmp_path_factory.mktemp("fuzz"), rate=0, ask_rate=0, max_tokens=4, patch_policy="off")
    app = create_app(chosen)
    house = House.open(chosen)
    assert len(ingest(records, "default", house.workshop).done) == len(records)
    app.state.porch.house = house
    yield schemathesis.openapi.from_asgi("/openapi.json", _without_a_life(app))
    house.close()


def _without_a_life(app: Any) -> Any:
    """The house is there already and outlives many clients; no worker takes what is queued, so that what is asked is the same every time."""

    async def front(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await app(scope, receive, send)
            return
        for word in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{word}.complete"})

    return front


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=lambda word: word)
def test_every_answer_is_one_that_the_schema_declares(api: Any, path: str, method: str) -> None:
    fuzz(api[path][method.upper()], 6)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=lambda word: word)
def test_every_answer_of_very_many_is_one_that_the_schema_declares(api: Any, path: str, method: str) -> None:
    fuzz(api[path][method.upper()], 300)


def fuzz(operation: Any, examples: int) -> None:
    sound, broken = (operation.as_strategy(generation_mode=mode) for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE))

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(sound, broken))
    def ask(case: schemathesis.Case) -> None:
        case.validate_response(case.call(), checks=HELD)

    ask()
