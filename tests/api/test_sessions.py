"""Sessions over REST: the list, one session, findings, verdicts, timeline, payload."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.test import Client

from sessions_app.models import Session
from tests.factories.corpus import attached, copied, session_of
from tests.paths import CORPUS, REPORTS

pytestmark = pytest.mark.django_db

DUPLICATE = "duplicate-call-id-in-message"


def test_the_list_finds_sessions_by_health_rule_and_id(api: Client, tmp_path: Path) -> None:
    broken, sound = session_of("dup_id_slow", tmp_path), session_of("clean", tmp_path)

    everything = api.get("/api/v1/sessions").json()
    blocked = api.get("/api/v1/sessions?health=blocked").json()
    by_rule = api.get(f"/api/v1/sessions?rule={DUPLICATE}").json()
    by_id = api.get(f"/api/v1/sessions?id={sound.stored_id}").json()

    assert [item["id"] for item in everything["items"]] == [broken.pk, sound.pk]
    assert [item["id"] for item in blocked["items"]] == [item["id"] for item in by_rule["items"]] == [broken.pk]
    assert blocked["filter"] == "Sessions blocked"
    assert [(item["id"], item["stored_id"]) for item in by_id["items"]] == [(sound.pk, sound.stored_id)]


def test_a_blocked_session_says_what_is_wrong_and_who_refuses_it_with_which_words(api: Client, tmp_path: Path) -> None:
    session = session_of("dup_id_slow", tmp_path)
    recorded = json.loads((CORPUS / "next" / "dup_id_slow.json").read_text())

    detail = api.get(f"/api/v1/sessions/{session.pk}").json()
    findings = api.get(f"/api/v1/sessions/{session.pk}/findings").json()
    verdicts = api.get(f"/api/v1/sessions/{session.pk}/verdicts").json()

    assert (detail["health"], detail["stored_id"]) == ("blocked", session.stored_id)
    assert findings["health"] == "blocked"
    assert DUPLICATE in [finding["rule"] for finding in findings["items"]]
    assert verdicts[0]["own"] and not verdicts[0]["accepted"]
    assert verdicts[0]["violations"][0]["error"] == recorded["error"]
    assert detail["verdicts"] == verdicts


def test_the_payload_as_stored_is_what_the_client_sends_and_with_the_fixes_has_no_duplicate(
    api: Client, tmp_path: Path
) -> None:
    session = session_of("dup_id_slow", tmp_path)
    recorded = json.loads((CORPUS / "next" / "dup_id_slow.json").read_text())["messages"]

    stored = api.get(f"/api/v1/sessions/{session.pk}/payload?as_stored=true")
    fixed = api.get(f"/api/v1/sessions/{session.pk}/payload").json()

    assert stored["X-Suture-Target"] == "openai-chat:fake/fake-1"
    assert stored["X-Suture-Verified"] == "yes"
    assert stored.json()["messages"][1:] == recorded[:-1]
    calls = [call["id"] for message in fixed["messages"] for call in message.get("tool_calls", [])]
    assert calls == ["functions.bash:0"]


def test_a_pending_compaction_is_told_and_its_summary_request_is_a_payload(api: Client, tmp_path: Path) -> None:
    session, clean = session_of("compact_killed", tmp_path), session_of("clean", tmp_path)
    [recorded] = json.loads((CORPUS / "next" / "compact_killed.json").read_text())["messages"]

    detail = api.get(f"/api/v1/sessions/{session.pk}").json()
    turn = api.get(f"/api/v1/sessions/{session.pk}/payload?as_stored=true")
    summary = api.get(f"/api/v1/sessions/{session.pk}/payload?summary=true")
    lines = b"".join(api.get("/api/v1/payloads.ndjson").streaming_content).splitlines()

    assert detail["opens_with"] == "compaction" == turn["X-Suture-Opens-With"] == summary["X-Suture-Opens-With"]
    assert {verdict["opens_with"] for verdict in detail["verdicts"]} == {"compaction"}
    assert len(turn.json()["messages"]) > 2
    [asked] = summary.json()["messages"][1:]
    told, _, _ = asked["content"].partition("\n</conversation>")
    assert told.startswith("Here is the conversation so far:") and recorded["content"].startswith(told)
    assert {line["id"]: line.get("opens_with") for line in map(json.loads, lines)} == {
        session.pk: "compaction",
        clean.pk: None,
    }
    assert api.get(f"/api/v1/sessions/{clean.pk}").json()["opens_with"] == ""
    assert "X-Suture-Opens-With" not in api.get(f"/api/v1/sessions/{clean.pk}/payload")


def test_a_payload_for_a_target_that_is_none_is_refused_in_words(api: Client, tmp_path: Path) -> None:
    session = session_of("clean", tmp_path)

    response = api.get(f"/api/v1/sessions/{session.pk}/payload?target=carrier-pigeon")

    assert response.status_code == 422
    assert "carrier-pigeon" in response.json()["detail"]


def test_a_session_that_its_client_cannot_open_has_the_clients_words_as_its_problem(
    api: Client, tmp_path: Path
) -> None:
    session = session_of("v1_bad_state_chat", tmp_path)

    response = api.get(f"/api/v1/sessions/{session.pk}/payload")

    assert response.status_code == 409
    assert response["content-type"] == "application/problem+json"


def test_payloads_of_a_filter_come_a_line_each(api: Client, tmp_path: Path) -> None:
    broken, unreadable = session_of("dup_id_slow", tmp_path), session_of("v1_bad_state_chat", tmp_path)

    response = api.get("/api/v1/payloads.ndjson?as_stored=true")
    lines = {line["id"]: line for line in map(json.loads, b"".join(response.streaming_content).splitlines())}

    assert response["content-type"] == "application/x-ndjson"
    assert lines[broken.pk]["session"] == broken.stored_id
    assert lines[broken.pk]["target"] == {
        "protocol": "openai-chat",
        "provider": "fake",
        "model": "fake-1",
        "thinking": "off",
    }
    assert lines[broken.pk]["body"] == api.get(f"/api/v1/sessions/{broken.pk}/payload?as_stored=true").json()
    assert lines[unreadable.pk]["error"]["message"]


def test_the_timeline_shows_parts_in_stored_order_with_their_findings(api: Client, tmp_path: Path) -> None:
    session = session_of("dup_id_slow", tmp_path)

    timeline = api.get(f"/api/v1/sessions/{session.pk}/timeline").json()
    parts = [part for turn in timeline["turns"] for message in turn["messages"] for part in message["parts"]]

    assert (timeline["start"], timeline["end"]) == (0, timeline["of"])
    assert [part["kind"] for part in parts] == ["text", "step-start", "text", "tool", "tool", "step-finish"]
    assert parts[3]["data"]["state"]["output"] == "one\n"
    assert any(key.startswith(DUPLICATE) for part in parts for key in part["findings"])


def test_an_error_text_leads_to_the_part_and_without_a_session_to_the_session(api: Client, tmp_path: Path) -> None:
    session = session_of("dup_id_slow", tmp_path)
    error = json.loads((CORPUS / "next" / "dup_id_slow.json").read_text())["error"]

    within = api.post("/api/v1/locate", {"error": error, "session": session.pk}, content_type="application/json").json()
    among = api.post("/api/v1/locate", {"error": error}, content_type="application/json").json()

    assert DUPLICATE in within["items"][0]["faults"]
    assert within["items"][0]["part"].startswith("prt_")
    assert within["class"] == among["class"] == "history"
    assert within["places"][0]["part"] == within["items"][0]["part"]
    assert {place["session"] for place in among["places"]} == {session.pk}
    assert [seen["session"] for seen in among["sessions"]] == [session.pk]


def test_without_a_session_the_ones_that_would_raise_an_error_are_named(api: Client, tmp_path: Path) -> None:
    session = session_of("dup_id_slow", tmp_path)
    session_of("clean", tmp_path)
    error = json.loads((CORPUS / "next" / "dup_id_slow.json").read_text())["error"]

    among = api.post("/api/v1/locate", {"error": error}, content_type="application/json").json()

    assert [seen["session"] for seen in among["sessions"]] == [session.pk]
    assert (among["places"][0]["session"], among["places"][0]["by"]) == (session.pk, "violation")
    assert among["next"]


def test_an_error_that_is_no_fault_of_the_history_is_told_apart(api: Client) -> None:
    answer = api.post("/api/v1/locate", {"error": "429 Too Many Requests"}, content_type="application/json").json()

    assert (answer["class"], answer["kind"], answer["places"]) == ("not-history", "limit", [])
    assert "Wait" in answer["next"]


def test_keys_in_a_payload_are_masked_on_request(api: Client, tmp_path: Path) -> None:
    key = "sk-ant-" + "a1B2" * 8
    path = copied("clean", tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE part SET data = replace(data, 'do a thing', ?)", (f"use {key}",))
    session = Session.objects.get(source=attached(path))

    plain = api.get(f"/api/v1/sessions/{session.pk}/payload")
    masked = api.get(f"/api/v1/sessions/{session.pk}/payload?redact=true")
    exported = b"".join(api.get("/api/v1/payloads.ndjson?redact=true").streaming_content)

    assert key in plain.content.decode()
    assert key not in masked.content.decode() and "sk-a[masked, 39 characters]" in masked.content.decode()
    assert key.encode() not in exported


@pytest.mark.parametrize("address", ["sessions", "payloads.ndjson"])
def test_a_filter_mistyped_is_refused_with_what_was_probably_meant(api: Client, address: str) -> None:
    for query, told in (
        ("healt=blocked", "healt (did you mean health?)"),
        ("has=stuk", "has=stuk (did you mean stuck?)"),
        ("health=blocked&sort=titel", "sort=titel (did you mean title?)"),
    ):
        refused = api.get(f"/api/v1/{address}?{query}")
        assert (refused.status_code, refused["content-type"]) == (422, "application/problem+json")
        assert told in refused.json()["detail"]


def test_a_session_says_what_its_last_call_was_answered_with(api: Client, tmp_path: Path) -> None:
    path = Path(shutil.copyfile(REPORTS / "recorded-refusal-signature.json", tmp_path / "one.json"))
    session = Session.objects.get(source=attached(path))
    detail = api.get(f"/api/v1/sessions/{session.pk}").json()
    last = detail["last_call"]
    assert (last["about"], last["kind"], last["counts"]) == ("history", "", True)
    assert last["words"] == "messages.1.content.0: Invalid `signature` in `thinking` block"
    assert detail["rejected_by"] == ["anthropic-messages"] and detail["health"] == "blocked"
    assert api.get(f"/api/v1/sessions/{session_of('clean', tmp_path / 'clean').pk}").json()["last_call"] is None


def test_a_target_mistyped_is_refused_and_not_told_of_each_session(api: Client, tmp_path: Path) -> None:
    session_of("dup_id_slow", tmp_path)

    for target, told in (("anthropc:acme/one", "did you mean anthropic-messages?"), ("gemini:", "PROVIDER/MODEL")):
        refused = api.get("/api/v1/payloads.ndjson", {"target": target})
        assert (refused.status_code, refused["content-type"]) == (422, "application/problem+json")
        assert told in refused.json()["detail"]
