"""The refusal that the session itself stores is evidence (docs/contract/rules.md#2.38)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sessions_app.domain import dialects
from sessions_app.domain.errorwords.recorded import errors_of
from sessions_app.domain.locate import answer
from sessions_app.domain.model import Session
from sessions_app.domain.scan import as_document
from sessions_app.domain.wire.target import Target
from sessions_app.stores import open_store
from tests.each import for_each
from tests.factories.sessions import (
    BEDROCK,
    CHAT,
    CLAUDE,
    CLAUDE_THINKING,
    GEMINI,
    RESPONSES,
    V1,
    V2,
    codes,
    data_of,
    finish,
    found,
    message_ids,
    planned,
    reasoning,
    repaired,
    scanned,
    start,
    text,
    tool,
)
from tests.paths import CORPUS, REPORTS

CODE = "last-call-refused"
SIGNED = "c2lnbmF0dXJl"
BAD_SIGNATURE = "messages.1.content.0: Invalid `signature` in `thinking` block"
NO_RESULT = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."
RECORDED = sorted(path.name for path in REPORTS.glob("recorded-*.json"))
TEXTS = [json.loads(line) for line in (REPORTS / "error-texts.jsonl").read_text().splitlines()]


def refused(words: str, status: int = 400, body: str = "") -> dict[str, Any]:
    data = {"message": words, "statusCode": status, "isRetryable": False, **({"responseBody": body} if body else {})}
    return {"name": "APIError", "data": data}


def report(name: str) -> Session:
    with open_store(REPORTS / name) as store:
        (rows,) = store.read_all()
    return dialects.decode(rows)


def told(session: Session, target: Target | None = None) -> list[tuple[str, str, str]]:
    """Of every finding about the last call: severity, class and kind."""
    return [
        (one.severity, one.details["class"], one.details["kind"])
        for one in scanned(session, target).findings
        if one.rule == CODE
    ]


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_refusal_is_told_and_counts_and_its_newest_row_stays_under_safe_repairs(name: str) -> None:
    session = report(name)
    result = scanned(session)
    (finding,) = [one for one in result.findings if one.rule == CODE]
    newest = [message for message in session.messages if message.error][-1]
    words = list(errors_of(newest.data))[-1]
    assert words in finding.summary and words in finding.details["error"]
    assert result.health != "healthy" and newest.id in finding.messages
    assert as_document(session, result)["last_call"]["words"] == words

    safe = repaired(session, safety="safe")
    assert safe.message(newest.id) is not None and scanned(safe).health == result.health


@pytest.mark.parametrize(
    ("name", "severity", "rule", "part"),
    [
        ("recorded-refusal-signature.json", "blocked", "thinking-stale", "prt_0002_02"),
        ("recorded-refusal-orphan.json", "at-risk", "orphan-tool-use", "prt_0002_03"),
        ("recorded-refusal-image.json", "at-risk", "media-rejected", "prt_0001_01"),
    ],
)
def test_a_recorded_refusal_leads_to_rule_and_part(name: str, severity: str, rule: str, part: str) -> None:
    finding = found(report(name), CODE)
    assert (finding.severity, finding.parts) == (severity, (part,))
    assert rule in finding.details["rules"] and "2 times in a row" in finding.summary


@pytest.mark.parametrize("name", [name for name in RECORDED if "overflow" in name])
def test_a_recorded_overflow_offers_its_ways_out_and_is_settled_by_them(name: str) -> None:
    session = report(name)
    assert [choice.name for choice in found(session, "context-overflow").choices] == ["compact"]
    assert [choice.name for choice in found(session, CODE).choices] == ["compact", "drop"]
    after = repaired(session)
    assert scanned(after).health == "healthy" and "msg_0007" not in message_ids(after)


def test_the_repair_of_the_cause_takes_the_stored_refusal_with_it() -> None:
    session = report("recorded-refusal-signature.json")
    after = repaired(session, choices={"thinking-stale": "drop-reasoning"})
    assert scanned(after).health == "healthy" and not codes(after)
    assert "msg_0007" not in message_ids(after) and after.part("prt_0002_02") is None


def test_asking_for_the_refusal_alone_repairs_its_cause() -> None:
    after = repaired(report("recorded-refusal-signature.json"), rules=[CODE])
    assert after.part("prt_0002_02") is None and "msg_0007" not in message_ids(after)


def test_a_cause_that_is_left_alone_on_request_is_not_repaired_by_way_of_the_refusal() -> None:
    session = report("recorded-refusal-signature.json")
    assert CODE in codes(repaired_once(session, {"thinking-stale": "none"}))


def repaired_once(session: Session, choices: dict[str, str]) -> Session:
    return dialects.applied(session, planned(session, safety="lossy", choices=choices).changes)


def test_the_user_may_drop_the_refusal_only() -> None:
    session = report("recorded-refusal-orphan.json")
    after = repaired(session, choices={CODE: "drop"}, rules=[CODE])
    assert CODE not in codes(after) and after.part("prt_0002_03") is not None


def test_what_cannot_be_placed_is_never_dropped_by_itself() -> None:
    session = report("recorded-refusal-image.json")
    assert CODE in codes(repaired(session, safety="lossy"))


def test_a_later_answer_takes_the_finding_away() -> None:
    history = V1(CLAUDE).user("a").assistant("ok").user("b").assistant(error=refused(NO_RESULT))
    assert CODE in codes(history.decoded())
    assert CODE not in codes(history.user("c").assistant(start(), text("answered"), finish("stop")).decoded())


def test_an_answer_that_began_was_no_refusal() -> None:
    half = V1(CLAUDE).user("a").assistant(start(), text("half"), error=refused("Overloaded", 529))
    assert CODE not in codes(half.decoded())
    twice = V1(CLAUDE).user("a").assistant(start(), tool("toolu_1"), finish(), error=refused(NO_RESULT))
    assert CODE in codes(twice.decoded())


def test_an_abort_says_nothing_and_hides_no_refusal_before_it() -> None:
    gone = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
    assert CODE not in codes(V1(CLAUDE).user("a").assistant(error=gone).decoded())
    history = V1(CLAUDE).user("a").assistant(error=refused(BAD_SIGNATURE)).user("b").assistant(error=gone)
    assert found(history.decoded(), CODE).messages[-1] == "msg_0002"


def test_a_model_chosen_since_is_not_the_one_that_refused() -> None:
    thinking = [start(), reasoning("t", SIGNED), text("ok"), finish("stop")]
    history = V1(CLAUDE_THINKING).user("a").assistant(*thinking).user("b").assistant(error=refused(BAD_SIGNATURE))
    assert found(history.decoded(), CODE).severity == "blocked"
    other = {"providerID": "acme", "modelID": "model-1"}
    finding = found(history.user("c", model=other).decoded(), CODE)
    assert finding.severity == "at-risk" and "another model is called next" in finding.summary


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (402, "Your credit balance is too low to access the Anthropic API.", "billing"),
        (429, "Rate limit reached for requests", "limit"),
        (401, "invalid x-api-key", "login"),
        (503, "upstream connect error or disconnect/reset before headers", "network"),
        (404, "The model `gpt-9` does not exist or you do not have access to it.", "model"),
    ],
)
def test_what_is_no_fault_of_the_history_is_only_told(status: int, words: str, kind: str) -> None:
    session = V1(CLAUDE).user("a").assistant("ok").user("b").assistant(error=refused(words, status)).decoded()
    result = scanned(session)
    assert told(session) == [("info", "not-history", kind)] and result.health == "healthy"
    assert "no fault of the history" in result.findings[0].summary
    assert repaired(session, safety="safe").message("msg_0004") is not None


def test_a_setting_that_is_refused_is_only_told() -> None:
    words = "Unsupported parameter: 'temperature' is not supported with this model."
    session = V1(RESPONSES).user("a").assistant("ok").user("b").assistant(error=refused(words)).decoded()
    assert told(session) == [("info", "setting", "")] and scanned(session).health == "healthy"


def test_a_limit_behind_a_refusal_does_not_hide_it() -> None:
    history = V1(CLAUDE).user("a").assistant("ok").user("b").assistant(error=refused(BAD_SIGNATURE))
    session = history.user("c").assistant(error=refused("Rate limit reached", 429)).decoded()
    assert ("at-risk", "history", "") in told(session)


def test_a_refusal_without_a_word_of_why_is_at_risk_and_stays() -> None:
    session = V1(CHAT).user("a").assistant("ok").user("b").assistant(error=refused("bad")).decoded()
    finding = found(session, CODE)
    assert finding.severity == "at-risk" and "does not say why: “bad”" in finding.summary
    assert repaired(session).message("msg_0004") is not None


def test_an_error_of_the_client_itself_is_no_word_of_a_provider() -> None:
    error = {"name": "UnknownError", "data": {"message": "Failed to execute statement"}}
    assert CODE not in codes(V1(CHAT).user("a").assistant("ok").user("b").assistant(error=error).decoded())


def test_the_clients_name_of_an_error_is_heard_where_its_words_say_nothing() -> None:
    error = {"name": "ContextOverflowError", "data": {"message": "failed"}}
    session = V1(CLAUDE).user("a").assistant("ok").user("b").assistant(error=error).decoded()
    assert told(session) == [("at-risk", "history", "")] and "context-overflow" in codes(session)


def test_keys_in_the_providers_words_are_masked() -> None:
    words = "Incorrect API key provided: sk-proj-abcdefghijklmnop1234567890"
    session = V1(RESPONSES).user("a").assistant(error=refused(words, 401)).decoded()
    assert "abcdefghijklmnop" not in found(session, CODE).summary


def test_altered_thinking_is_found_by_the_stored_refusal_wherever_it_stands() -> None:
    words = (
        "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must"
        " remain as they were in the original response."
    )
    thinking = [start(), reasoning("t", SIGNED), text("ok"), finish("stop")]
    history = V1(CLAUDE_THINKING).user("a").assistant(*thinking).user("b").assistant(error=refused(words))
    finding = found(history.decoded(), "thinking-altered")
    assert (finding.severity, finding.messages) == ("at-risk", ("msg_0002",))
    after = repaired(history.decoded())
    assert not codes(after) and after.part("prt_0002_02") is None


def test_an_image_that_was_refused_is_replaced_by_a_note() -> None:
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
    image = {"type": "file", "mime": "image/png", "filename": "a.png", "url": f"data:image/png;base64,{pixel}"}
    history = V1(CLAUDE).user("look", image).assistant("ok").user("b")
    assert "media-rejected" not in codes(history.decoded())
    words = "messages.0.content.1.image.source.base64.data: Could not process image"
    session = history.assistant(error=refused(words)).decoded()
    finding = found(session, "media-rejected")
    assert (finding.severity, finding.parts) == ("blocked", ("prt_0001_02",))
    assert found(session, CODE).parts == ("prt_0001_02",)
    after = repaired(session)
    assert data_of(after, "prt_0001_02")["type"] == "text" and not codes(after)


@pytest.mark.parametrize("generation", [1, 2, 3])
def test_a_failed_v2_turn_is_read_from_its_row_and_settled_in_it(generation: int) -> None:
    thought = {"type": "reasoning", "text": "t", "time": {"created": 1, "completed": 2}}
    state = {"signature": SIGNED}
    thought |= {"id": "r1", "providerMetadata": {"anthropic": state}} if generation == 1 else {"state": state}
    words = {"type": "text", "text": "ok", **({"id": "t1"} if generation == 1 else {})}
    history = V2(CLAUDE_THINKING, generation).user("a").assistant(thought, words).user("b")
    body = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": BAD_SIGNATURE}})
    error = {"type": "unknown", "message": f"Provider request failed with HTTP 400: {body}"}
    session = history.assistant(error=error, finish="error").decoded()
    finding = found(session, CODE, CLAUDE_THINKING)
    assert finding.summary.endswith(f"“{BAD_SIGNATURE}”") and finding.severity == "blocked"
    assert scanned(session, CLAUDE_THINKING).health == "blocked"
    safe = repaired(session, CLAUDE_THINKING, safety="safe")
    assert safe.messages[-1].error == error
    after = repaired(session, CLAUDE_THINKING)
    assert scanned(after, CLAUDE_THINKING).health == "healthy"
    assert after.messages[-1].error is None and after.messages[-1].data["metadata"]["error"] == error


FORMATS = {
    "anthropic-messages": (CLAUDE_THINKING, BAD_SIGNATURE, "thinking-stale"),
    "openai-chat": (CHAT, "This model's maximum context length is 8192 tokens.", "context-overflow"),
    "openai-responses": (
        RESPONSES,
        "The encrypted content gAAA could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
        "encrypted-reasoning-foreign",
    ),
    "gemini": (
        GEMINI,
        "Unable to process input image. Please retry or report in https://developers.generativeai.google",
        "media-rejected",
    ),
    "bedrock-converse": (
        BEDROCK,
        "The model returned the following errors: messages.1.content.0: Invalid `signature` in `thinking` block",
        "thinking-stale",
    ),
}


@pytest.mark.parametrize("protocol", FORMATS)
def test_every_wire_format_is_heard(protocol: str) -> None:
    target, words, rule = FORMATS[protocol]
    history = V1(target).user("a").assistant(start(), reasoning("t", SIGNED), text("ok"), finish("stop")).user("b")
    finding = found(history.assistant(error=refused(words)).decoded(), CODE)
    assert rule in finding.details["rules"] and finding.severity != "info"


@for_each("entry", TEXTS, one_in=4)
def test_every_known_text_weighs_by_its_class_as_a_stored_error(entry: dict[str, Any]) -> None:
    """V1 and V2 alike: of the history it counts; a limit, the account, the network or a setting does not."""
    words = {"message": entry["text"]}
    old = V1(CLAUDE).user("a").assistant("ok").user("b")
    old.assistant(error={"name": "APIError", "data": words})
    new = V2(CLAUDE, 2).user("a").assistant({"type": "text", "text": "ok"}).user("b")
    new.assistant(error={"type": "unknown", **words}, finish="error")
    said = answer(entry["text"]).about
    for session in (old.decoded(), new.decoded()):
        classes = [(severity != "info", about) for severity, about, _ in told(session, CLAUDE)]
        if said == "history":
            assert classes == [(True, "history")]
        elif said in ("setting", "not-history"):
            assert classes == [(False, said)]
        else:
            assert all(about in ("generic", "not-history") for _, about in classes)


REFUSED = {
    "dup_id_anthropic": "blocked",
    "dup_id_anthropic@1.18.11": "blocked",
    "dup_id_slow": "blocked",
    "dup_id_slow@1.18.11": "blocked",
    "retry_tool_done_sameid_anthropic@1.18.11": "blocked",
    "think_nosig_tool": "blocked",
    "http_400": "at-risk",
    "think_sig_emptytext@1.2.1": "at-risk",
    "think_sig_emptytext@1.14.41": "at-risk",
}
"""The recorded sessions that end with a provider's no. The last two were refused as older clients sent them."""


@for_each("name", [entry["name"] for entry in json.loads((CORPUS / "index.json").read_text())], one_in=4)
def test_of_the_recorded_sessions_those_tell_it_that_end_with_a_no(name: str) -> None:
    path = CORPUS / f"{name}.db"
    if not path.exists():
        return
    with open_store(path) as store:
        sessions = [dialects.decode(rows) for rows in store.read_all()]
    found = [severity for session in sessions for severity, *_ in told(session)]
    assert found == ([REFUSED[name]] if name in REFUSED else [])
