"""A request goes in; what a route needs of the house comes out, or NotReady while there is no house yet."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends
from starlette.requests import Request

from .closing import Closing
from .errors import NotReady
from .settings import Settings
from .traffic import Traffic
from .watch import Traces, Untraced

if TYPE_CHECKING:
    from .house import House as House
else:
    # FastAPI looks the name up when a route is declared; the real one would load torch there.
    House = Any


P = ParamSpec("P")
R = TypeVar("R")
# Threads for changes, which may wait for another writer by the minute; and for those who ask whether all is well. What is read has the
# framework's own: were they the same, forty deletions that wait would keep everybody from being answered.
CHANGES, QUESTIONS = 32, 4


class Porch:
    """Where requests wait for the house: it is None until it is loaded, and `reason` says what it waits for. What the server has seen, and
    whether it stops, is known here from the first request to the last."""

    def __init__(self, traces: Traces | None = None) -> None:
        self.house: House | None = None
        self.reason = "the model is being loaded"
        self.closing = Closing()
        self.traffic = Traffic()
        self.traces: Traces = traces or Untraced()
        self._changes, self._questions = CapacityLimiter(CHANGES), CapacityLimiter(QUESTIONS)

    async def change(self, work: Callable[P, R], *given: P.args, **told: P.kwargs) -> R:
        """Do what changes something, and may wait for another writer, in a thread of those for it."""
        return await to_thread.run_sync(partial(work, *given, **told), limiter=self._changes)

    async def look(self, work: Callable[P, R], *given: P.args, **told: P.kwargs) -> R:
        """Do what a supervisor waits for in a thread of those for it."""
        return await to_thread.run_sync(partial(work, *given, **told), limiter=self._questions)


def porch(request: Request) -> Porch:
    found: Porch = request.app.state.porch
    return found


def open_house(request: Request) -> House:
    """Raises NotReady, with the reason."""
    found = porch(request)
    if found.house is None:
        raise NotReady(f"not ready yet: {found.reason}")
    return found.house


def settings(request: Request) -> Settings:
    found: Settings = request.app.state.settings
    return found


PorchDep = Annotated[Porch, Depends(porch)]
HouseDep = Annotated[House, Depends(open_house)]
SettingsDep = Annotated[Settings, Depends(settings)]
