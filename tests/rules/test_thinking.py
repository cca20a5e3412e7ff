"""Thinking and provider state (docs/contract/rules.md#2.7, #2.8, #2.9, #2.13, #2.21)."""

from __future__ import annotations

from sessions_app.domain.rules import Facts, Located
from tests.factories.sessions import (
    CHAT,
    CLAUDE,
    CLAUDE_THINKING,
    GEMINI,
    KIMI,
    RESPONSES,
    V1,
    V2,
    codes,
    data_of,
    finish,
    found,
    part_ids,
    planned,
    reasoning,
    repaired,
    scanned,
    start,
    text,
    tool,
)

SIGNED = "c2lnbmF0dXJl"


def unsigned_tool_turn():
    parts = [start(), reasoning("thinks"), text("say"), tool("toolu_1", output="42"), finish()]
    return V1(CLAUDE_THINKING).user("go").assistant(*parts).user("on").decoded()


def test_a_tool_turn_with_unsigned_thinking_becomes_text_first_of_all() -> None:
    session = unsigned_tool_turn()
    finding = found(session, "thinking-unsigned", CLAUDE_THINKING)
    assert (finding.severity, finding.safety) == ("blocked", "lossy")
    assert [choice.name for choice in finding.choices] == ["to-text", "remove-turn"]
    assert "switch thinking off" in finding.details["also"]
    after = repaired(session, CLAUDE_THINKING)
    assert part_ids(after, "msg_0002") == ["prt_0002_01", "prt_0002_03", "prt_0002_04", "prt_0002_05"]
    said = data_of(after, "prt_0002_04")["text"]
    assert "Result: 42" in said and '{"command":"ls"}' in said and "Suture" in said
    assert scanned(after, CLAUDE_THINKING).health == "healthy"


def test_a_safe_plan_leaves_unsigned_thinking_alone_and_says_why() -> None:
    plan = planned(unsigned_tool_turn(), CLAUDE_THINKING)
    assert not plan.operations and any("loses something" in why for _, why in plan.skipped)


def test_the_turn_can_be_removed_instead() -> None:
    after = repaired(unsigned_tool_turn(), CLAUDE_THINKING, choices={"thinking-unsigned": "remove-turn"})
    assert [message.id for message in after.messages] == ["msg_0001", "msg_0003"]


def test_without_thinking_the_same_turn_is_no_fault() -> None:
    session = V1(CLAUDE).user("go").assistant(start(), reasoning("x"), tool("t"), finish()).user("on").decoded()
    assert not codes(session, CLAUDE)


def test_a_tool_turn_made_without_thinking_is_not_first() -> None:
    session = V1(CLAUDE_THINKING).user("go").assistant(start(), tool("t"), finish(), target=KIMI).user("on").decoded()
    assert found(session, "thinking-not-first", CLAUDE_THINKING).severity == "blocked"
    after = repaired(session, CLAUDE_THINKING)
    assert scanned(after, CLAUDE_THINKING).health != "blocked"


def test_no_repair_makes_up_copies_or_edits_thinking() -> None:
    signed = reasoning("kept", SIGNED)
    history = V1(CLAUDE_THINKING).user("a").assistant(start(), signed, text("said"), finish("stop"))
    session = history.user("b").assistant(start(), reasoning("cut"), tool("t"), finish()).user("c").decoded()
    after = repaired(session, CLAUDE_THINKING)
    before = session.part("prt_0002_02")
    kept = after.part("prt_0002_02")
    assert before is not None and kept is not None and kept.raw == before.raw
    assert sum(part.kind == "reasoning" for message in after.messages for part in message.parts) == 1


def test_signed_thinking_with_empty_text_is_right() -> None:
    session = (
        V1(CLAUDE_THINKING).user("a").assistant(start(), reasoning("", SIGNED), tool("t"), finish()).user("b").decoded()
    )
    assert not codes(session, CLAUDE_THINKING)


def test_changed_thinking_is_raised_by_a_pasted_error_alone() -> None:
    session = (
        V1(CLAUDE_THINKING)
        .user("a")
        .assistant(start(), reasoning("x", SIGNED), text("y"), finish("stop"))
        .user("b")
        .decoded()
    )
    assert "thinking-altered" not in codes(session, CLAUDE_THINKING)
    facts = Facts(located=(Located("thinking-altered", "msg_0002", "prt_0002_02", "cannot be modified"),))
    finding = found(session, "thinking-altered", CLAUDE_THINKING, facts)
    assert finding.parts == ("prt_0002_02",) and finding.details["error"] == "cannot be modified"
    after = repaired(
        session,
        CLAUDE_THINKING,
        facts=facts,
        rules=["thinking-altered"],
        choices={"thinking-altered": "drop-reasoning"},
    )
    assert part_ids(after, "msg_0002") == ["prt_0002_01", "prt_0002_03", "prt_0002_04"]


def test_v2_thinking_without_signature_is_found_where_the_client_sends_it() -> None:
    history = V2(CLAUDE_THINKING, 3)
    thought = {"type": "reasoning", "text": "cut", "time": {"created": 1, "completed": 2}}
    session = history.user("go").assistant(thought, history.tool("toolu_1")).user("on").decoded()
    assert scanned(session, CLAUDE_THINKING).health == "blocked"
    assert "thinking-unsigned" in codes(session, CLAUDE_THINKING)
    assert scanned(repaired(session, CLAUDE_THINKING), CLAUDE_THINKING).health == "healthy"


def test_encrypted_reasoning_is_info_until_the_session_recorded_a_refusal() -> None:
    sealed = reasoning("", openai={"itemId": "rs_1", "reasoningEncryptedContent": "gAAAx"})
    call = {**tool("call_1"), "metadata": {"openai": {"itemId": "fc_1"}}}
    history = V1(RESPONSES).user("a").assistant(start(), sealed, call, finish())
    assert found(history.decoded(), "encrypted-reasoning-foreign", RESPONSES).severity == "info"
    words = (
        "The encrypted content gAAAx could not be verified. Reason: Encrypted content could not be decrypted or parsed."
    )
    refused = history.user("b").assistant(error={"name": "APIError", "data": {"message": words}}).decoded()
    finding = found(refused, "encrypted-reasoning-foreign", RESPONSES)
    assert finding.severity == "blocked" and words in finding.details["error"]
    after = repaired(refused, RESPONSES)
    assert after.part("prt_0002_02") is None
    assert data_of(after, "prt_0002_03")["metadata"] == {"openai": {}}
    assert data_of(after, "prt_0002_03")["state"]["output"] == "done"


def test_encrypted_reasoning_with_a_visible_summary_keeps_the_summary() -> None:
    sealed = reasoning("I looked", openai={"itemId": "rs_1", "reasoningEncryptedContent": "gAAAx"})
    session = V1(RESPONSES).user("a").assistant(start(), sealed, text("done"), finish("stop")).decoded()
    after = repaired(session, RESPONSES, rules=["encrypted-reasoning-foreign"])
    assert data_of(after, "prt_0002_02")["text"] == "I looked" and data_of(after, "prt_0002_02")["metadata"] == {
        "openai": {}
    }


def test_a_reasoning_item_followed_by_its_call_is_paired() -> None:
    sealed = reasoning("", openai={"itemId": "rs_1", "reasoningEncryptedContent": "gAAAx"})
    session = V1(RESPONSES).user("a").assistant(start(), sealed, tool("c"), finish()).decoded()
    assert "reasoning-item-unpaired" not in codes(session, RESPONSES)


def test_state_of_openai_is_no_matter_for_other_targets() -> None:
    lone = reasoning("", openai={"itemId": "rs_1"})
    session = V1(CHAT).user("a").assistant(start(), lone, text("x"), finish("stop")).decoded()
    assert not codes(session, CHAT)


def test_a_gemini_call_of_an_earlier_turn_needs_no_signature() -> None:
    history = V1(GEMINI).user("a").assistant(start(), tool("c"), finish())
    assert "thought-signature-missing" in codes(history.decoded(), GEMINI)
    later = history.user("b").assistant(start(), text("x"), finish("stop")).decoded()
    assert "thought-signature-missing" not in codes(later, GEMINI)


def test_a_kimi_call_without_reasoning_is_blocked_with_thinking_and_has_no_repair() -> None:
    from dataclasses import replace

    target = replace(KIMI, thinking="on")
    session = V1(target).user("a").assistant(start(), tool("c"), finish()).user("b").decoded()
    finding = found(session, "reasoning-field-missing", target)
    assert (finding.severity, finding.safety, finding.choices) == ("blocked", "manual", ())


def test_a_refusal_at_the_text_beside_unsigned_thinking_is_laid_to_the_thinking() -> None:
    result = scanned(unsigned_tool_turn(), CLAUDE_THINKING)
    finding = next(one for one in result.findings if one.rule == "thinking-unsigned")
    (violation,) = result.verdicts["anthropic-messages"].violations

    assert violation.part not in finding.parts
    assert "anthropic-messages" in finding.details["refused_by"]
    assert "anthropic-messages" not in finding.details["accepted_by"]
