"""Checks are linear in the body: twice the history costs about twice the time, and a long one is judged while a page
loads."""

from __future__ import annotations

import time
from typing import Any

import pytest

from sessions_app.domain.wire.target import Target, make_target
from tests.protocols.histories import (
    GO,
    a_result,
    a_text,
    a_think,
    a_use,
    assistant,
    b_result,
    b_think,
    b_use,
    call,
    contents,
    fcall,
    fout,
    gcall,
    gout,
    human,
    items,
    model,
    msgs,
    said,
    target,
    tool,
    user,
    verdict,
)

SOME = "a line of text that is neither short nor long. " * 4


def claude(turns: int) -> dict[str, Any]:
    history = []
    for turn in range(turns):
        name = f"toolu_{turn}"
        history += [
            user(a_text(SOME)),
            assistant(a_think(), a_use(name, input={"a": [SOME]})),
            user(a_result(name, content=SOME)),
            assistant(a_text(SOME)),
        ]
    return msgs(*history, GO)


def chat(turns: int) -> dict[str, Any]:
    history: list[dict[str, Any]] = [{"role": "system", "content": "x"}]
    for turn in range(turns):
        name = f"call_{turn}"
        history += [
            {"role": "user", "content": SOME},
            said(SOME, call(name), reasoning_content=SOME),
            tool(name, SOME),
            said(SOME, reasoning_content=""),
        ]
    return {"messages": history}


def responses(turns: int) -> dict[str, Any]:
    history: list[dict[str, Any]] = []
    for turn in range(turns):
        history += [
            {"role": "user", "content": [{"type": "input_text", "text": SOME}]},
            fcall(f"call_{turn}"),
            fout(f"call_{turn}", SOME),
        ]
    return items(*history)


def gemini(turns: int) -> dict[str, Any]:
    return contents(
        *[part for _ in range(turns) for part in (human(), model(gcall()), human(gout()), model({"text": SOME}))],
        human(),
    )


def bedrock(turns: int) -> dict[str, Any]:
    history = []
    for turn in range(turns):
        name = f"tooluse_{turn}"
        history += [
            user({"text": SOME}),
            assistant(b_think(), b_use(name)),
            user(b_result(name)),
            assistant({"text": SOME}),
        ]
    return msgs(*history, user({"text": "continue"}))


CASES = [
    (claude, target("anthropic-messages", "claude-x", "on")),
    (chat, make_target("fake", "fake-1")),
    (chat, make_target("deepseek", "deepseek-x", "on")),
    (responses, target("openai-responses", "gpt-x")),
    (gemini, target("gemini", "gemini-3-x")),
    (bedrock, target("bedrock-converse", "claude-x", "on")),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("build", "called"), CASES, ids=lambda case: getattr(case, "__name__", "") or getattr(case, "profile", "")
)
def test_a_history_of_twenty_thousand_items_is_judged_in_linear_time(build: Any, called: Target) -> None:
    small, large = build(500), build(5_000)

    def seconds(body: dict[str, Any]) -> float:
        start = time.process_time()
        judged = verdict(body, called)
        assert judged.violations == ()
        return time.process_time() - start

    once = min(seconds(small) for _ in range(3))
    assert min(seconds(large) for _ in range(2)) < max(40 * once, 0.5)
