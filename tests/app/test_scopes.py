"""The table of routes: every route of the application is in it by name, with a scope or as public, and nothing else is."""

import re

import pytest
from starlette.routing import Mount

from app.main import create_app
from app.scopes import ANSWERS, PUBLIC, ROUTES, SCOPES, UNKNOWN, UPLOADS, WATCHES, place
from app.settings import Settings


def bare(template: str) -> str:
    """A template without its parameters' names."""
    return re.sub(r"\{\w+(:\w+)?\}", r"{\1}", template)


def routes(candidates) -> set[tuple[str, str]]:
    found = set()
    for route in candidates:
        if hasattr(route, "effective_candidates"):  # FastAPI keeps an included router whole
            found |= routes(route.effective_candidates())
        elif isinstance(route, Mount):
            found.add(("GET", f"{route.path}/{{:path}}"))
        else:
            found |= {(method, bare(route.path)) for method in route.methods - {"HEAD"}}
    return found


def test_every_route_of_the_application_has_a_scope_or_is_public_by_name(tmp_path):
    assert routes(create_app(Settings(home=tmp_path)).routes) == {(method, bare(template)) for method, template in ROUTES}
    assert set(ROUTES.values()) == {PUBLIC, *SCOPES}


def test_nothing_that_changes_or_tells_what_documents_say_is_public():
    assert {template for (method, template), scope in ROUTES.items() if scope == PUBLIC} == {
        "/",
        "/static/{path:path}",
        "/livez",
        "/readyz",
    }
    assert all(scope != "read" for (method, _), scope in ROUTES.items() if method in ("PUT", "DELETE"))


@pytest.mark.parametrize(
    ("method", "path", "template", "scope"),
    [
        ("GET", "/v1/documents/abc", "/v1/documents/{document}", "read"),
        ("HEAD", "/v1/documents/abc", "/v1/documents/{document}", "read"),
        ("DELETE", "/v1/documents/text", "/v1/documents/{document}", "write"),
        ("GET", "/v1/pages/abc.png", "/v1/pages/{key}.png", "read"),
        ("GET", "/v1/jobs/events", "/v1/jobs/events", "read"),
        ("GET", "/v1/models/reader/default", "/v1/models/{model:path}", "read"),
        ("PATCH", "/v1/jobs", "/v1/jobs", None),
        ("GET", "/v1/documents/a/b", UNKNOWN, None),
        ("GET", "/v1/documents/a\nb", "/v1/documents/{document}", "read"),
        ("POST", "/v1/documents\n", "/v1/documents", "write"),
        ("GET", "/v1//ask", UNKNOWN, None),
        ("GET", "/V1/ask", UNKNOWN, None),
        ("POST", "/v1/ask/", UNKNOWN, None),
    ],
)
def test_a_request_finds_its_place(method, path, template, scope):
    found = place(method, path)
    assert (found.template, found.scope) == (template, scope)


def test_the_special_ones_are_in_the_table():
    assert {template for _, template in ROUTES} >= ANSWERS | WATCHES | UPLOADS
