"""The strict provider judges every recorded request of the corpus as the recording's own provider did."""

from __future__ import annotations

from typing import Any

import pytest

from tests.client.strict import anthropic_error, chat_error
from tests.each import for_each
from tests.factories.recordings import RECORDINGS


@for_each("name", RECORDINGS)
def test_the_verdict_of_a_recording_comes_out_again(name: str) -> None:
    recorded = RECORDINGS[name]
    if "path" not in recorded:
        assert recorded["error"] == "no model request was sent"
        return

    messages: list[dict[str, Any]] = recorded["messages"]
    if recorded["path"] == "openai-chat":
        error = chat_error({"messages": [{"role": "system", "content": "You are."}, *messages]})
    else:
        error = anthropic_error({"messages": messages, "thinking": recorded["thinking"]})

    assert error == recorded["error"]


def shape(turns: str) -> list[dict[str, Any]]:
    """Anthropic messages from turns such as ``u go | a use1 use2 | u res1``."""
    return [
        {
            "role": {"u": "user", "a": "assistant"}[turn.split()[0]],
            "content": [block(word) for word in turn.split()[1:]],
        }
        for turn in turns.split("|")
    ]


def block(word: str) -> dict[str, Any]:
    if word.startswith("use"):
        return {"type": "tool_use", "id": f"tc_{word[3:]}", "name": "bash", "input": {}}
    if word.startswith("res"):
        return {"type": "tool_result", "tool_use_id": f"tc_{word[3:]}", "content": "done"}
    return {"type": "text", "text": "" if word == "empty" else word}


@pytest.mark.parametrize(
    ("turns", "part"),
    [
        ("u go | a use1 | u go", "were found without `tool_result` blocks"),
        ("u go | a use1 | u res1 | u go", None),
        ("u go | a use1 use2 | u res1 go | u res2", "blocks immediately after: tc_2."),
        ("u go | a use1 | u go res1", "were found without `tool_result` blocks"),
        ("u go | a use1 use2 | u res2 | u res1 go", None),
        ("u go | a use1 | u res999", "messages.2.content.0: unexpected `tool_use_id`"),
        ("u go | a use1 | u res1 res1", "each tool_use must have a single result"),
        ("u go | a use1", "were found without `tool_result` blocks"),
        ("u go | a empty | u go", "messages: text content blocks must be non-empty"),
        ("a go | u go", "first message must use"),
        ("u go | a | u go", "messages.1: all messages must have non-empty content"),
        ("u go | a go | a go | u go", None),
    ],
)
def test_measured_shapes_are_judged_as_measured(turns: str, part: str | None) -> None:
    error = anthropic_error({"messages": shape(turns)})

    assert (error is None) if part is None else (part in (error or ""))


def test_a_chat_call_without_its_answer_and_an_answer_without_its_call_are_refused() -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "call_1"}]}
    answer = {"role": "tool", "tool_call_id": "call_1"}
    prompt = {"role": "user", "content": "go"}

    assert chat_error({"messages": [prompt, call, answer, prompt]}) is None
    assert "did not have response messages: call_1" in (chat_error({"messages": [prompt, call, prompt]}) or "")
    assert "must be a response to a preceeding message" in (chat_error({"messages": [prompt, answer]}) or "")
    assert "'call_1' not found in 'tool_calls'" in (chat_error({"messages": [prompt, call, answer, answer]}) or "")
