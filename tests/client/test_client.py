"""What the real client does with the corpus, without any repair: the ground that the other tests here stand on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.client.opencode import Client
from tests.client.provider import ANSWER, Provider
from tests.paths import CORPUS

pytestmark = [pytest.mark.client, pytest.mark.exhaustive]


@pytest.mark.parametrize("name", ["clean", "think_clean"])
def test_a_healthy_session_goes_on(opencode: Client, strict: Provider, name: str) -> None:
    session = opencode.take(CORPUS / f"{name}.db")

    run = opencode.go_on(session)

    assert run.code == 0
    assert ANSWER in run.output
    assert [request.error for request in strict.turns()] == [None]


def test_an_export_comes_back_as_the_same_conversation(opencode: Client, strict: Provider, tmp_path: Path) -> None:
    session = opencode.take(CORPUS / "clean.db")
    export = opencode.export(session, tmp_path / "export.json")
    opencode.forget()

    taken = opencode.take_in(export)
    run = opencode.go_on(session)

    assert taken.code == 0, taken.output
    assert run.code == 0, run.output
    recorded = json.loads((CORPUS / "next" / "clean.json").read_text())["messages"]
    assert strict.turns()[0].body["messages"][1:] == recorded
