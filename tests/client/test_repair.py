"""From refused to going on: the real client, before and after ``suture repair``, and after its undo."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client.opencode import Client
from tests.client.provider import ANSWER, Provider
from tests.client.suture import Suture
from tests.factories.recordings import RECORDINGS
from tests.paths import CORPUS

pytestmark = [pytest.mark.client, pytest.mark.exhaustive]

REFUSED = [name for name, next_ in RECORDINGS.items() if not next_["accepted"] and "path" in next_]
ACCEPTED = [name for name, next_ in RECORDINGS.items() if next_["accepted"]]


@pytest.fixture
def suture(tmp_path: Path) -> Suture:
    return Suture(tmp_path / "data")


@pytest.mark.parametrize("name", ["dup_id_slow", "dup_id_anthropic"])
def test_a_refused_session_goes_on_after_its_repair_and_is_refused_again_after_undo(
    opencode: Client, strict: Provider, suture: Suture, name: str
) -> None:
    session = opencode.take(CORPUS / f"{name}.db")

    refused = opencode.go_on(session)
    [repair] = suture.json("repair", str(opencode.database), "--session", session)["repairs"]
    accepted = opencode.go_on(session)
    undone = suture.json("undo", repair)
    again = opencode.go_on(session)

    assert RECORDINGS[name]["error"] in refused.output
    assert accepted.code == 0 and ANSWER in accepted.output
    assert undone["outcome"] == "undone"
    assert RECORDINGS[name]["error"] in again.output
    assert [turn.error for turn in strict.turns()] == [RECORDINGS[name]["error"], None, RECORDINGS[name]["error"]]


@pytest.mark.parametrize("name", REFUSED)
def test_every_refused_session_is_accepted_after_the_recommended_repairs(
    opencode: Client, strict: Provider, suture: Suture, name: str
) -> None:
    session = opencode.take(CORPUS / f"{name}.db")
    assert suture.health(opencode.database, session) == "blocked"

    suture.mend(opencode.database, session)
    run = opencode.go_on(session)

    assert suture.health(opencode.database, session) != "blocked"
    assert [turn.error for turn in strict.turns()] == [None], run.output
    assert ANSWER in run.output


@pytest.mark.parametrize("name", ACCEPTED)
def test_no_accepted_session_is_refused_after_repair_all_safe(
    opencode: Client, strict: Provider, suture: Suture, name: str
) -> None:
    session = opencode.take(CORPUS / f"{name}.db")

    suture.json("repair", str(opencode.database), "--session", session)
    run = opencode.go_on(session)

    # After a compaction that was asked for, the client sums up and stores the prompt without answering it.
    answered = "turn" in RECORDINGS[name]["requests"]
    assert bool(strict.turns()) == answered, run.output
    assert strict.requests and [request.error for request in strict.requests if request.error] == []
