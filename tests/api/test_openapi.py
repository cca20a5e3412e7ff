"""The API's own document: committed, complete, and shown as a page."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from sessions_app.services.importing import import_run, source_attach
from tests.factories.corpus import NOW, copied, session_of

from .openapi import COMMITTED, current

DOCUMENT = json.loads(COMMITTED.read_text(encoding="utf-8"))
DESIGNED = """
GET sources, POST sources, GET sources/{}, GET sources/{}/export, GET jobs, GET jobs/{}
POST sources/{}/sync, DELETE sources/{}
GET sessions, GET sessions/{}, GET sessions/{}/timeline, GET sessions/{}/findings
GET sessions/{}/payload, GET sessions/{}/verdicts, GET payloads.ndjson
POST sessions/{}/plan, POST sessions/{}/repair, POST sessions/{}/dedupe, POST sessions/{}/drop
GET repairs, GET repairs/{}, POST repairs/{}/undo, POST bulk, GET bulk/{}, POST bulk/{}/cancel, POST bulk/{}/undo
GET sessions/{}/export, POST locate, POST sessions/{}/probe, POST sessions/{}/compact
"""


def operations() -> set[str]:
    paths = json.loads(current())["paths"]
    return {
        f"{method.upper()} {re.sub(r'{[^}]*}', '{}', path).removeprefix('/api/v1/')}"
        for path, methods in paths.items()
        for method in methods
    }


def test_the_document_is_the_committed_one() -> None:
    assert current() == COMMITTED.read_text(encoding="utf-8"), (
        "run `python -m tests.api.openapi` if the change was meant"
    )


def test_the_document_passes_a_validator() -> None:
    validate(json.loads(current()))


def test_operations_are_called_as_a_person_would_call_them() -> None:
    names = [operation["operationId"] for methods in DOCUMENT["paths"].values() for operation in methods.values()]

    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"[a-z]+(_[a-z]+)+", name) or "sessions_app" in name] == []


def test_every_body_has_an_example_that_its_schema_takes() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    bodies = {
        content["schema"]["$ref"].rpartition("/")[2]
        for methods in DOCUMENT["paths"].values()
        for operation in methods.values()
        for content in operation.get("requestBody", {}).get("content", {}).values()
        if "$ref" in content["schema"]
    }

    assert len(bodies) > 5
    for name in bodies:
        [example] = schemas[name]["examples"]
        Draft202012Validator({**schemas[name], "components": {"schemas": schemas}}).validate(example)


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["sessions", "repairs", "bulk", "jobs", "sessions/{}/probes"])
def test_a_page_past_the_last_is_empty_and_the_last_has_no_next(api: Client, tmp_path: Path, address: str) -> None:
    for number in range(3):
        session = session_of("clean", tmp_path / str(number))
    where = f"/api/v1/{address.format(session.pk)}"

    first, last, past = (api.get(where, {"page": page, "per_page": 2}).json() for page in (1, 2, 9))

    if first["total"]:
        assert first["next"] == f"{where}?page=2&per_page=2"
        assert api.get(first["next"]).json() == last
        assert len(last["items"]) == 1
    assert (past["items"], past["page"], past["next"], last["next"]) == ([], 9, None, None)


@pytest.mark.django_db
def test_an_import_is_seen_to_move(api: Client, tmp_path: Path) -> None:
    source, job = source_attach(path=copied("clean", tmp_path), actor="test", now=NOW)

    waiting = api.get(f"/api/v1/sources/{source.pk}").json()
    while import_run(job_id=job.pk, clock=timezone.now):
        pass
    done = api.get(f"/api/v1/jobs/{job.pk}").json()
    listed = api.get("/api/v1/jobs", {"source": source.pk}).json()

    assert (waiting["source"]["id"], waiting["job"]["state"], waiting["job"]["percent"]) == (source.pk, "queued", 0)
    assert (done["state"], done["percent"], done["done"]) == ("done", 100, done["total"])
    assert listed["items"] == [done]
    assert api.get(f"/api/v1/sources/{source.pk}").json()["job"] == done


def test_every_address_of_the_design_is_there() -> None:
    wanted = {words.strip() for line in DESIGNED.strip().splitlines() for words in line.split(",")}

    assert wanted - operations() == set()


def test_every_operation_and_every_schema_says_what_it_is_for() -> None:
    document = json.loads(current())

    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"] and operation["description"], f"{method} {path}"


@pytest.mark.django_db
def test_the_served_document_is_open_and_the_page_lists_every_operation(client: Client, alice: User) -> None:
    served = client.get("/api/v1/openapi.json")
    client.force_login(alice)
    page = client.get("/api/v1/docs")

    assert served.json() == json.loads(current())
    text = unescape(page.content.decode())
    for path, methods in json.loads(current())["paths"].items():
        for method in methods:
            assert f"<code>{method.upper()} {path}</code>" in text
    assert not re.search(r"<script(?![^>]* src=)|\son\w+=|style=|https?://", text)
    assert "default-src 'none'" in page["Content-Security-Policy"]


@pytest.mark.django_db
def test_the_page_is_searched_and_a_schema_is_one_click_from_where_it_is_used(client: Client, alice: User) -> None:
    client.force_login(alice)

    found = client.get("/api/v1/docs?q=undo+repair").content.decode()
    assert "/api/v1/repairs/{rid}/undo" in found and "POST /api/v1/sources<" not in found
    live = client.get("/api/v1/docs?q=undo", headers={"HX-Request": "true", "HX-Target": "api-found"}).content.decode()
    assert "<html" not in live and "undo" in live
    assert "0 entries with" in client.get("/api/v1/docs?q=no+such+thing").content.decode()

    whole = client.get("/api/v1/docs").content.decode()
    for name in re.findall(r'href="#(schema-\w+)"', whole):
        assert f'id="{name}"' in whole
