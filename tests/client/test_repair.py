"""From refused to going on: the real client, before and after ``suture repair``, and after its undo."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.client.opencode import Client
from tests.client.provider import ANSWER, Provider
from tests.client.suture import Suture
from tests.paths import CORPUS

pytestmark = pytest.mark.client

RECORDED: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text()) for path in sorted((CORPUS / "next").glob("*.json"))
}
REFUSED = [name for name, next_ in RECORDED.items() if not next_["accepted"] and "path" in next_]
ACCEPTED = [name for name, next_ in RECORDED.items() if next_["accepted"]]
SAMPLE_REFUSED = [
    "seed_kimi_abort",
    "short_ids_across_turns_anthropic",
    "think_nosig_tool",
    "v1_callid_chars_anth",
    "v1_pexec_only_chat",
]
SAMPLE_ACCEPTED = ["abort_parallel", "compact_ok", "kill_pending_args", "think_retry_tool"]
EVERYTHING = os.environ.get("SUTURE_E2E") == "all"


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

    assert RECORDED[name]["error"] in refused.output
    assert accepted.code == 0 and ANSWER in accepted.output
    assert undone["outcome"] == "undone"
    assert RECORDED[name]["error"] in again.output
    assert [turn.error for turn in strict.turns()] == [RECORDED[name]["error"], None, RECORDED[name]["error"]]


@pytest.mark.parametrize("name", REFUSED if EVERYTHING else SAMPLE_REFUSED)
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


@pytest.mark.parametrize("name", ACCEPTED if EVERYTHING else SAMPLE_ACCEPTED)
def test_no_accepted_session_is_refused_after_repair_all_safe(
    opencode: Client, strict: Provider, suture: Suture, name: str
) -> None:
    session = opencode.take(CORPUS / f"{name}.db")

    suture.json("repair", str(opencode.database), "--session", session)
    run = opencode.go_on(session)

    assert strict.turns(), run.output
    assert [turn.error for turn in strict.turns() if turn.error] == []
