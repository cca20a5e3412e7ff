"""A name mistyped is an error with what was probably meant: in every operation of the API, and on pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.test import Client

from sessions_app.models import Session
from tests.factories.corpus import session_of

from .openapi import COMMITTED

pytestmark = pytest.mark.django_db

DOCUMENT = json.loads(COMMITTED.read_text(encoding="utf-8"))
OPERATIONS = [(method, path) for path, methods in DOCUMENT["paths"].items() for method in methods]
BODIES = [(method, path) for method, path in OPERATIONS if "requestBody" in DOCUMENT["paths"][path][method]]
VALUES = {"sid": "1", "number": "1", "rid": "rep_1"}


def sent(api: Client, method: str, path: str, session: Session | None, query: str = "", body: object = None):
    uuid = "bulk/{number}" in path
    values = VALUES | ({"number": "00000000-0000-0000-0000-000000000000"} if uuid else {})
    values |= {"sid": str(session.pk)} if session else {}
    return api.generic(method.upper(), path.format(**values) + query, json.dumps(body), content_type="application/json")


def example(method: str, path: str) -> dict[str, object]:
    """A body with what is required in it."""
    shape = DOCUMENT["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"]
    options = [shape, *shape.get("allOf", ()), *shape.get("anyOf", ())]
    [named] = [option["$ref"].rpartition("/")[2] for option in options if "$ref" in option] or [""]
    found = DOCUMENT["components"]["schemas"][named] if named else shape
    kinds = {"string": "x", "integer": 1}
    return {name: kinds[found["properties"][name]["type"]] for name in found.get("required", ())}


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_an_unknown_query_parameter_is_refused_by_every_operation(api: Client, method: str, path: str) -> None:
    body = example(method, path) if (method, path) in BODIES else None

    refused = sent(api, method, path, None, "?sesion=1", body)

    assert refused.status_code == 422, refused.content
    assert "sesion" in refused.json()["detail"]
    assert {"at": "query/sesion", "what": refused.json()["errors"][0]["what"]} in refused.json()["errors"]


@pytest.mark.parametrize(("method", "path"), BODIES)
def test_an_unknown_field_is_refused_by_every_operation_with_the_one_that_was_meant(
    api: Client, method: str, path: str
) -> None:
    known = example(method, path)
    shape = DOCUMENT["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"]
    names = json.dumps(shape) + json.dumps(DOCUMENT["components"]["schemas"])

    refused = sent(api, method, path, None, "", known | {"reasn": "x", "pathh": "y"})

    assert refused.status_code == 422, refused.content
    assert "reasn" in refused.json()["detail"]
    assert '"reason"' in names


@pytest.mark.parametrize(
    ("address", "meant"),
    [
        ("repairs?state=aplied", "applied"),
        ("repairs?rule=stuck-tol", "stuck-tool"),
        ("sessions?health=blokced", "blocked"),
        ("sessions?rule=stuck-tol", "stuck-tool"),
        ("sessions?per_pag=3", "per_page"),
        ("sessions/{}/export?as=databse", "database"),
        ("sessions/{}/export?safety=losy", "lossy"),
        ("sessions/{}/payload?thinking=onn", "on"),
        ("sessions/{}/payload?target=openai-chatt:a/b", "openai-chat"),
        ("sessions/{}/timeline?sinse=3", "since"),
    ],
)
def test_a_value_mistyped_is_refused_with_the_one_that_was_meant(
    api: Client, tmp_path: Path, address: str, meant: str
) -> None:
    session = session_of("dup_id_slow", tmp_path)

    refused = api.get(f"/api/v1/{address.format(session.pk)}")

    assert refused.status_code == 422
    assert f"did you mean {meant}" in refused.json()["detail"]


@pytest.mark.parametrize("what", ["plan", "repair"])
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"messages": ["msg_nobody"]}, "Unknown message 'msg_nobody'"),
        ({"findings": ["stuck-tool:0123456789ab"]}, "Unknown finding 'stuck-tool:0123456789ab'"),
        ({"choices": {"duplicate-call-id-in-message": "keep-the-best"}}, "Unknown choice of duplicate-call-id"),
        ({"saftey": "lossy"}, "saftey (did you mean safety?)"),
        ({"safety": "losy"}, "did you mean lossy?"),
    ],
)
def test_what_this_session_does_not_have_is_refused(
    api: Client, tmp_path: Path, data_dir: Path, what: str, body: dict[str, object], told: str
) -> None:
    session = session_of("dup_id_slow", tmp_path)

    refused = api.post(f"/api/v1/sessions/{session.pk}/{what}", body, content_type="application/json")

    assert refused.status_code == 422
    assert told in refused.json()["detail"]


@pytest.mark.parametrize(
    ("address", "meant"),
    [
        ("/repairs/?state=aplied", "applied"),
        ("/repairs/?rule=stuck-tol", "stuck-tool"),
        ("/repairs/?stat=applied", "state"),
        ("/sessions/?health=blokced", "blocked"),
        ("/sessions/?helth=blocked", "health"),
        ("/search/?form=3", "from"),
        ("/sessions/{}/?order=snet", "sent"),
        ("/sessions/{}/repair/?safety=losy", "lossy"),
        ("/sessions/{}/repair/?saftey=lossy", "safety"),
        ("/sessions/{}/payload/?protocol=gemni", "gemini"),
        ("/sessions/{}/payload/?thinkin=on", "thinking"),
        ("/bulk/?presset=safe", "preset"),
    ],
)
def test_a_page_says_what_it_does_not_understand(
    client: Client, alice, tmp_path: Path, address: str, meant: str
) -> None:
    session = session_of("dup_id_slow", tmp_path)
    client.force_login(alice)

    page = client.get(address.format(session.pk))

    assert page.status_code == 422
    assert f"did you mean {meant}" in page.content.decode()


def test_what_a_mail_program_adds_to_an_address_is_passed_over(client: Client, alice, tmp_path: Path) -> None:
    session = session_of("dup_id_slow", tmp_path)
    client.force_login(alice)

    assert client.get(f"/sessions/{session.pk}/?utm_source=mail").status_code == 200
