"""The stream of jobs, run by Node: opened again after a second, or when the server says."""

from collections.abc import Callable
from typing import Any

import pytest

# The page's own parts ask for elements and for the server; here is neither.
WAITS = """(async () => {
  globalThis.document = { documentElement: { querySelector: () => null } };
  const { watch } = await import("./web/watching.js");
  const waits = [];
  const later = globalThis.setTimeout;
  globalThis.setTimeout = (work, pause) => { waits.push(pause); };
  const [status, headers] = given;
  globalThis.fetch = async () => new Response(JSON.stringify({ error: { type: "Busy", message: "later" } }), { status, headers });
  await watch({ heard() {}, unheard() {}, trouble() {} });
  globalThis.setTimeout = later;
  return waits;
})()"""


@pytest.mark.parametrize(
    ("status", "headers", "waits"), [(429, {"Retry-After": "17"}, [17_000]), (503, {"Retry-After": "5"}, [5000]), (500, {}, [1000])]
)
def test_it_is_opened_again_when_the_server_says(node: Callable[..., Any], status: int, headers: dict[str, str], waits: list[int]):
    assert node("events.js", WAITS, status, headers) == waits
