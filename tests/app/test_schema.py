"""/openapi.json is complete: every operation with its name, tag, key, limits, errors and their one shape."""

from pathlib import Path

import pytest

from app.errors import TABLE
from app.main import create_app
from app.schema import EVERYWHERE, TAGS
from app.settings import Settings


@pytest.fixture(scope="module")
def schema() -> dict:
    return create_app(Settings(home=Path("nowhere"), question_chars=777, file_bytes=5000, request_files=7, text_chars=999)).openapi()


def operations(schema: dict) -> list[tuple[str, str, dict]]:
    return [(path, method, operation) for path, found in schema["paths"].items() for method, operation in found.items()]


def test_every_operation_has_a_name_of_its_own_a_known_tag_and_says_what_it_does(schema):
    names = [operation["operationId"] for _, _, operation in operations(schema)]
    assert len(set(names)) == len(names)
    for path, method, operation in operations(schema):
        assert set(operation["tags"]) <= set(TAGS), path
        assert operation.get("description"), (path, method)
    assert {tag["name"] for tag in schema["tags"]} == set(TAGS)


def test_every_operation_names_what_can_go_wrong_in_the_one_shape(schema):
    for path, method, operation in operations(schema):
        assert {str(code) for code in EVERYWHERE} <= set(operation["responses"]), (path, method)
        for code, response in operation["responses"].items():
            assert "X-Request-Id" in response["headers"]
            if int(code) >= 400 and (path, code) != ("/readyz", "503"):
                assert response["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/ErrorBody"}, (path, code)
                assert sorted(response["content"]["application/json"]["example"]["error"]) == ["detail", "message", "type"]
        for code in ("429", "503"):
            assert "Retry-After" in operation["responses"][code]["headers"], (path, method)
    assert "HTTPValidationError" not in schema["components"]["schemas"]


def test_the_examples_are_errors_that_there_are(schema):
    rows = {kind.__name__: row.status for kind, row in TABLE.items()} | {"InternalError": 500, "MethodNotAllowed": 405}
    responses = schema["paths"]["/v1/documents"]["post"]["responses"]
    for code, response in responses.items():
        if int(code) >= 400:
            assert rows[response["content"]["application/json"]["example"]["error"]["type"]] == int(code)


def test_limits_that_are_settings_stand_in_it_as_numbers(schema):
    models = schema["components"]["schemas"]
    assert models["AskRequest"]["properties"]["question"]["maxLength"] == 777
    assert models["SearchRequest"]["properties"]["query"]["maxLength"] == 777
    assert models["TextRequest"]["properties"]["text"]["maxLength"] == 999
    files = schema["paths"]["/v1/documents"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]["properties"]["files"]
    assert (files["maxItems"], files["items"]["maxLength"]) == (7, 5000)
    assert models["Ids"]["properties"]["ids"]["maxItems"] == 100
    limit = next(one for one in schema["paths"]["/v1/jobs"]["get"]["parameters"] if one["name"] == "limit")
    assert (limit["schema"]["minimum"], limit["schema"]["maximum"], limit["schema"]["default"]) == (1, 200, 50)


def test_keys_and_their_scopes_stand_in_it_and_public_addresses_need_none(schema):
    needs = {(path, method): operation.get("security") for path, method, operation in operations(schema)}
    assert needs["/v1/ask", "post"] == [{"key": ["ask"]}, {}]
    assert needs["/v1/search", "post"] == [{"key": ["read"]}, {}]
    assert needs["/v1/documents/{document}", "delete"] == [{"key": ["write"]}, {}]
    assert needs["/livez", "get"] is None
    assert schema["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


def test_uploads_declare_their_key_and_their_replay(schema):
    for path in ("/v1/documents", "/v1/documents/text"):
        post = schema["paths"][path]["post"]
        assert "Idempotency-Key" in {parameter["name"] for parameter in post["parameters"]}
        assert "Idempotent-Replay" in post["responses"]["200"]["headers"]
        assert {"202", "409", "507"} <= set(post["responses"])


def test_streams_are_declared_beside_the_json(schema):
    for path in ("/v1/ask", "/v1/chat/completions"):
        assert sorted(schema["paths"][path]["post"]["responses"]["200"]["content"]) == ["application/json", "text/event-stream"]
    assert list(schema["paths"]["/v1/jobs/events"]["get"]["responses"]["200"]["content"]) == ["text/event-stream"]
