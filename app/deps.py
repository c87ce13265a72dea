"""A request goes in; what a route needs of the house comes out, or NotReady while there is no house yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

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


class Porch:
    """Where requests wait for the house: it is None until it is loaded, and `reason` says what it waits for. What the server has seen, and
    whether it stops, is known here from the first request to the last."""

    def __init__(self, traces: Traces | None = None) -> None:
        self.house: House | None = None
        self.reason = "the model is being loaded"
        self.closing = Closing()
        self.traffic = Traffic()
        self.traces: Traces = traces or Untraced()


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
