"""What the real V2 server sent next, and what the strict provider answered: every recording is lowered, settled and
judged the same (docs/contract/v2-server.md)."""

from __future__ import annotations

import copy
from importlib import import_module
from typing import Any

import pytest

from sessions_app.domain import dialects, jsjson, planning
from sessions_app.domain.judging import verdict
from sessions_app.domain.lowering import lower
from sessions_app.domain.lowering.replay_v2 import replay_v2, select_v2
from sessions_app.domain.model import Message
from sessions_app.domain.scan import scan
from sessions_app.domain.wire.lowered import LoweringError
from sessions_app.domain.wire.verdict import Verdict
from sessions_app.domain.wish import Level, Wish
from tests.each import for_each
from tests.factories.v2recordings import RECORDINGS, TURNS, Recording

REFUSED = [one for one in TURNS if one.accepted is False]
NOT_CHECKABLE = {"v2e_thinking_wrong_sig_anth"}
"""Whose signature it is, only the vendor can tell."""
LAXER = {"v2e_tool_name_empty_anth", "v2r_whitespace_answer_anth"}
"""The recording's provider takes what the vendor's API refuses."""
DUPLICATES = "Duplicate function_call_output for call_id 'call_1'. "
VENDORS_WORDS = {
    "v2e_twin_pending_before_anth": "messages.1.content.0.tool_use.input: Input should be an object",
    "v2e_twin_error_before_resp": DUPLICATES,
    "v2e_twin_pending_after_resp": DUPLICATES,
    "v2r_same_id_two_prompts_resp": DUPLICATES,
    "v2r_same_id_two_turns_resp": DUPLICATES,
}
"""Where the recording's provider says the same in words of its own (docs/contract/v2-server.md#d10)."""
BESIDE_THE_ROWS = {
    "v2e_compaction_gen3_chat",
    "v2e_input_unpromoted_chat",
    "v2e_input_unpromoted_one_chat",
    "v2e_item_no_id_chat",
    "v2e_seq_conflict_2_chat",
    "v2e_session_dir_gone_chat",
    "v2e_session_model_gone_chat",
}
"""Sessions that the server cannot send for reasons beside their history: its tables, its configuration, its version
(docs/contract/v2-server.md#d5, #d7)."""
NO_REPAIR = NOT_CHECKABLE
"""Refused, and nothing in the rows says why."""

every_turn = for_each("recording", TURNS, one_in=4)


def sent(recording: Recording) -> list[dict[str, Any]]:
    """The messages as the server's writer makes them, its cache marks included."""
    package = f"sessions_app.domain.protocols.{recording.target.protocol.replace('-', '_')}.v2"
    lowered = lower(recording.session(), recording.target, repairs=False, next_prompt="continue")
    body = import_module(package).write(lowered, recording.target, cache="auto").body
    messages: list[dict[str, Any]] = body["input" if "input" in body else "messages"]
    return messages[1:] if recording.target.protocol == "openai-chat" else messages


def words(judged: Verdict) -> str | None:
    return judged.violations[0].error if judged.violations else None


def test_every_recording_is_there() -> None:
    assert len(RECORDINGS) == 258
    assert (len(TURNS), len(REFUSED)) == (227, 34)


@every_turn
def test_the_next_request_is_the_servers_byte_for_byte(recording: Recording) -> None:
    assert jsjson.dumps(sent(recording)) == jsjson.dumps(recording.messages)


@every_turn
def test_the_verdict_is_the_recorded_answer_in_its_words(recording: Recording) -> None:
    judged = verdict(recording.session(), recording.target)
    if recording.name in LAXER:
        assert recording.accepted and not judged.accepted
    elif recording.name in NOT_CHECKABLE:
        assert judged.accepted and not recording.accepted
        assert judged.not_checkable
    else:
        assert judged.accepted is recording.accepted
        found, wanted = words(judged), VENDORS_WORDS.get(recording.name, recording.error)
        assert found == wanted or (found and wanted and recording.name in VENDORS_WORDS and found.startswith(wanted))


@for_each("recording", [one for one in TURNS if one.rewritten], one_in=2)
def test_open_calls_are_ended_as_the_server_stored_it(recording: Recording) -> None:
    session = recording.session()
    stored = {message.id: message for message in select_v2(session, recording.target)}
    rewritten = {row["id"]: jsjson.loads(row["after"])["content"] for row in recording.rewritten}
    for message in replay_v2(session, recording.target).before:
        if message.kind == "assistant" and message.id in stored:
            content = rewritten.get(message.id, stored[message.id].data["content"])
            assert timeless(message.data["content"]) == timeless(content)
            assert ended(message) == [item["state"]["status"] for item in content if item["type"] == "tool"]


def timeless(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Items without the time of the prompt that ended them."""
    items = copy.deepcopy(content)
    for item in items:
        item.get("time", {}).pop("completed", None)
    return items


def ended(message: Message) -> list[str]:
    return [tool.status for tool in message.tools()]


@for_each("recording", [one for one in TURNS if one.accepted and one.name not in LAXER], one_in=4)
def test_what_the_server_left_and_the_provider_took_is_not_blocked(recording: Recording) -> None:
    result = scan(recording.session(), recording.target)
    assert result.health != "blocked", result.reasons
    if recording.name.startswith("v2r_"):
        # A refusal that was the last word counts until there is an answer, though the next request was taken.
        found = [one for one in result.findings if one.rule != "last-call-refused"]
        assert all(one.severity == "info" for one in found), result.reasons
    assert all(one.severity == "info" for one in result.findings if one.rule == "stuck-tool")


@for_each("recording", [one for one in RECORDINGS.values() if one.accepted is None])
def test_a_history_that_the_server_cannot_send_is_not_lowered(recording: Recording) -> None:
    if recording.name not in BESIDE_THE_ROWS:
        with pytest.raises(LoweringError):
            sent(recording)
        assert scan(recording.session(), recording.target).health in ("blocked", "unreadable")


@pytest.mark.parametrize("safety", ["safe", "lossy"])
@for_each("recording", [one for one in REFUSED if one.name not in NO_REPAIR], one_in=2)
def test_a_refused_session_is_accepted_after_its_repair(recording: Recording, safety: Level) -> None:
    session = recording.session()
    plan = planning.plan(session, recording.target, Wish(safety=safety))
    after = dialects.applied(session, plan.changes)
    judged = verdict(after, recording.target)
    if safety == "lossy" or judged.accepted:
        assert judged.accepted, words(judged)
        assert scan(after, recording.target).health != "blocked"
    else:
        left = scan(after, recording.target).findings
        assert [one for one in left if one.severity == "blocked" and one.safety != "safe"], "said to be lossy"


@for_each("recording", [one for one in REFUSED if one.error and one.error.endswith("signature: Field required")])
def test_one_interrupt_of_a_thinking_model_loses_nothing(recording: Recording) -> None:
    session = recording.session()
    found = [one for one in scan(session, recording.target).findings if one.rule == "thinking-lost-on-error"]
    for finding in found:
        assert next(choice.name for choice in finding.choices) == "move-error"
        assert "with its thinking, but without the signature" in finding.summary
        plan = planning.plan(session, recording.target, Wish())
        after = dialects.applied(session, plan.changes)
        assert verdict(after, recording.target).accepted
        for before, now in zip(session.messages, after.messages, strict=True):
            assert now.data.get("content") == before.data.get("content")
            assert now.data.get("finish") == before.data.get("finish")
            if before.error:
                kept = now.error or now.data["metadata"]["error"]
                assert kept == before.error
    failed = any(message.error and message.parts for message in session.messages)
    assert bool(found) is failed
