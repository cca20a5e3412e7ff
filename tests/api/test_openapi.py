"""The API's own document: committed, complete, and shown as a page."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client

from .openapi import COMMITTED, current

DESIGNED = """
GET sources, POST sources, POST sources/{}/sync, DELETE sources/{}
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
