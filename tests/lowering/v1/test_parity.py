"""What the real client sent: every recorded turn is lowered to the same messages, every refusal has the client's own
words."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.domain.bodies import body
from sessions_app.domain.dialects import decode
from sessions_app.domain.wire.lowered import LoweringError
from tests.each import for_each
from tests.factories.recordings import INDEX, RECORDINGS, corpus_rows, recorded_target

TURNS = [name for name, entry in INDEX.items() if entry.get("parity")]
REFUSED = [name for name, entry in INDEX.items() if entry.get("next_recorded") and entry.get("requests") == []]
AFTER_TASK = [
    name
    for name, entry in INDEX.items()
    if entry.get("next_recorded") and RECORDINGS[name]["requests"][:1] == ["summary"]
]


def without_marks(value: Any) -> Any:
    """Cache marks are no part of a history."""
    if isinstance(value, dict):
        return {key: without_marks(item) for key, item in value.items() if key != "cache_control"}
    return [without_marks(item) for item in value] if isinstance(value, list) else value


def sent(name: str, prompt: str | None = "continue") -> Any:
    recorded = RECORDINGS[name]
    target = recorded_target(recorded)
    result = body(decode(corpus_rows(name, recorded["session"])), target, repairs=False, next_prompt=prompt)
    assert result.verified
    for path, origin in result.provenance.items():
        at = result.body
        for step in path:
            at = at[step]
        assert isinstance(at, dict), (path, origin)
    messages = result.body["messages"]
    if target.protocol == "openai-chat":
        assert messages[0]["role"] == "system"
        return messages[1:]
    return messages


def exact(value: Any) -> Any:
    """Values with their types and key order, which equality of Python values does not see."""
    if isinstance(value, dict):
        return [(key, exact(item)) for key, item in sorted(value.items())]
    return [exact(item) for item in value] if isinstance(value, list) else (isinstance(value, bool), value)


def inputs(messages: list[dict[str, Any]]) -> list[list[str]]:
    return [
        list(block["input"])
        for m in messages
        if isinstance(m["content"], list)
        for block in m["content"]
        if isinstance(block.get("input"), dict)
    ]


@for_each("name", TURNS, one_in=2)
def test_the_recorded_turn_is_reproduced(name):
    want = without_marks(RECORDINGS[name]["messages"])
    got = sent(name)
    assert got == want
    assert exact(got) == exact(want)
    assert inputs(got) == inputs(want)


def without_prompt(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A recorded request without its prompt, which on Anthropic may stand behind results in one message."""
    *before, last = messages
    kept = last["content"][:] if isinstance(last["content"], list) else []
    while kept and kept[-1].get("type") == "text" and kept[-1]["text"].startswith(("continue", "<system-reminder>")):
        kept.pop()
    return [*before, {**last, "content": kept}] if kept else before


@for_each("name", TURNS, one_in=4)
def test_without_the_prompt_a_history_ends_as_the_recorded_turn_does(name):
    """Its last answer is no prefill: nothing is trimmed, and Mistral's models get their "Done."."""
    assert sent(name, None) == without_prompt(without_marks(RECORDINGS[name]["messages"]))


@for_each("name", REFUSED)
def test_a_session_the_client_cannot_continue_is_refused_in_its_words(name):
    with pytest.raises(LoweringError) as caught:
        sent(name)
    assert caught.value.words in RECORDINGS[name]["client_output"]
    assert caught.value.origin is not None and caught.value.origin.part


def test_the_corpus_holds_what_these_tests_are_about():
    assert len(TURNS) > 250
    assert len(REFUSED) > 5
    assert len(AFTER_TASK) > 5
