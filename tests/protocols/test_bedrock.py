"""What Bedrock Converse refuses, each beside the nearest history that it takes (docs/contract/wire.md#5)."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.domain.protocols import judge
from sessions_app.domain.wire.lowered import Body, Origin
from tests.protocols.histories import (
    Pair,
    assistant,
    b_result,
    b_think,
    b_use,
    holds,
    jpeg,
    msgs,
    png,
    target,
    user,
    verdict,
)

CLAUDE = target("bedrock-converse", "anthropic.claude-x")
THINKING = target("bedrock-converse", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "on")
OPUS = target("bedrock-converse", "anthropic.claude-opus-4-8")
NOVA = target("bedrock-converse", "amazon.nova-pro-v1:0")
MISTRAL = target("bedrock-converse", "mistral.mistral-large")

GO = user({"text": "continue"})
ASK = user({"text": "do it"})
DONE = assistant({"text": "done"})
TALK = msgs(ASK, DONE, GO)
LOOP = msgs(ASK, assistant(b_use()), user(b_result(), {"text": "continue"}))
POINT = {"cachePoint": {"type": "default"}}
SPEC = {"tools": [{"toolSpec": {"name": "bash", "inputSchema": {"json": {}}}}]}


def image(data: str, kind: str = "png") -> dict[str, Any]:
    return {"image": {"format": kind, "source": {"bytes": data}}}


def paper(name: str) -> dict[str, Any]:
    return {"document": {"format": "pdf", "name": name, "source": {"bytes": "JVBERg=="}}}


PAIRS = [
    Pair("B1", msgs(DONE, GO), TALK, "A conversation must start with a user message.", NOVA),
    Pair("B2", msgs(ASK, GO), TALK, "A conversation must alternate between user and assistant roles.", CLAUDE),
    Pair(
        "B3",
        msgs(ASK, assistant(b_use("t1"), b_use("t2")), user(b_result("t1"), {"text": "x"})),
        msgs(ASK, assistant(b_use("t1"), b_use("t2")), user(b_result("t1"), b_result("t2"), {"text": "x"})),
        "Expected toolResult blocks at messages.2.content for the following Ids: t2",
        NOVA,
        position="messages.2.content",
    ),
    Pair(
        "B4",
        msgs(ASK, DONE, user(b_result(), {"text": "x"})),
        LOOP,
        "toolResult blocks at messages.2.content exceeds the number of toolUse blocks",
        NOVA,
    ),
    Pair(
        "B5",
        {**LOOP, "toolConfig": {"tools": []}},
        {**LOOP, "toolConfig": SPEC},
        "The toolConfig field must be defined",
        OPUS,
    ),
    Pair(
        "B6",
        msgs(ASK, assistant({"text": " "}), GO),
        TALK,
        "The text field in the ContentBlock object at messages.1.content.0 is blank.",
        NOVA,
    ),
    Pair(
        "B6",
        msgs(ASK, assistant({"text": ""}), GO),
        TALK,
        "The model returned the following errors: messages: text content blocks must be non-empty",
        CLAUDE,
        name="claude",
    ),
    Pair(
        "B7",
        msgs(ASK, assistant(), GO),
        TALK,
        "The content field in the Message object at messages.1 is empty.",
        NOVA,
    ),
    Pair(
        "B7",
        msgs(ASK, assistant(POINT), GO),
        msgs(ASK, assistant({"text": "x"}, POINT), GO),
        "There is nothing available to cache.",
        CLAUDE,
        name="cache",
    ),
    Pair(
        "B8",
        msgs(ASK, assistant(b_use(input="{}")), user(b_result(), {"text": "x"})),
        LOOP,
        "messages.1.content.0.toolUse.input is invalid. Provide a json object for the field and try again.",
        NOVA,
    ),
    Pair(
        "B9",
        msgs(ASK, assistant(b_use("a/b")), user(b_result("a/b"), {"text": "x"})),
        msgs(ASK, assistant(b_use("functions.bash:0")), user(b_result("functions.bash:0"), {"text": "x"})),
        "Value 'a/b' at 'messages.2.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint",
        NOVA,
    ),
    Pair(
        "B9",
        msgs(ASK, assistant(b_use(name="")), user(b_result(), {"text": "x"})),
        LOOP,
        "length greater than or equal to 1",
        NOVA,
        name="name",
    ),
    Pair(
        "B10",
        msgs(ASK, assistant(b_use()), user(b_result(), {"text": "x"})),
        msgs(ASK, assistant(b_use("abcdefgh1")), user(b_result("abcdefgh1"), {"text": "x"})),
        "Tool call id was tooluse_1 but must be",
        MISTRAL,
    ),
    Pair(
        "B11",
        msgs(user(*[part for _ in range(5) for part in ({"text": "x"}, POINT)])),
        msgs(user(*[part for _ in range(4) for part in ({"text": "x"}, POINT)])),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        OPUS,
    ),
    Pair(
        "B12",
        LOOP,
        msgs(ASK, assistant(b_think(), b_use()), user(b_result(), {"text": "continue"})),
        "The model returned the following errors: messages.1.content.0.type: Expected `thinking`",
        THINKING,
    ),
    Pair("B12", msgs(ASK, DONE), TALK, "does not support assistant message prefill", OPUS, name="prefill"),
    Pair(
        "B12",
        msgs(user({"text": "x"}, image(jpeg()))),
        msgs(user({"text": "x"}, image(jpeg(), "jpeg"))),
        "appears to be a image/jpeg",
        CLAUDE,
        name="media",
    ),
    Pair(
        "B12",
        msgs(user({"text": "x"}, image(png(size=5_300_000)))),
        msgs(user({"text": "x"}, image(png()))),
        "image exceeds 5 MB maximum",
        CLAUDE,
        name="bytes",
    ),
    Pair(
        "B12",
        msgs(ASK, assistant({"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": "x"}), GO),
        msgs(ASK, assistant(b_think(), {"text": "x"}), GO),
        "thinking.signature: Field required",
        CLAUDE,
        name="unsigned",
    ),
    Pair(
        "B13",
        {**LOOP, "toolConfig": {**SPEC, "toolChoice": {"none": {}}}},
        {**LOOP, "toolConfig": {**SPEC, "toolChoice": {"auto": {}}}},
        "toolChoice",
        OPUS,
    ),
    Pair(
        "B13",
        {**TALK, "inferenceConfig": {"topK": 5}},
        {**TALK, "inferenceConfig": {"topP": 1}},
        "topK",
        OPUS,
        name="topk",
    ),
    Pair("B14", msgs(ASK, assistant({"text": "x", "image": {}}), GO), TALK, "Unexpected field type", NOVA),
    Pair(
        "B15",
        msgs(user({"text": "x"}, paper("a_b.pdf"))),
        msgs(user({"text": "x"}, paper("a b (1)"))),
        "The document file name can only contain",
        NOVA,
    ),
    Pair(
        "B15",
        msgs(user(paper("spec"))),
        msgs(user({"text": "x"}, paper("spec"))),
        "A text block is required",
        NOVA,
        name="text",
    ),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_a_broken_rule_is_refused_and_the_nearest_legal_history_is_not(pair: Pair) -> None:
    holds(pair)


def test_what_claude_says_behind_bedrock_points_at_the_block_of_this_body_and_its_row() -> None:
    body = msgs(user({"text": "x"}, POINT, image(jpeg())))
    origins = {("messages", 0): Origin("msg_1", ""), ("messages", 0, "content", 2): Origin("msg_1", "prt_7")}
    found = judge(Body("bedrock-converse", body, origins), CLAUDE).violations[0]
    assert (found.pointer, found.message, found.part) == (("messages", 0, "content", 2), "msg_1", "prt_7")
    assert found.faults == ("media-rejected",)


def test_ids_are_unique_for_claude_only() -> None:
    body = msgs(ASK, assistant(b_use()), user(b_result()), assistant(b_use()), user(b_result(), {"text": "x"}))
    assert [one.rule for one in verdict(body, CLAUDE).violations] == ["B12"]
    assert verdict(body, NOVA).accepted


def test_genuineness_of_reasoning_is_left_to_the_model() -> None:
    assert verdict(msgs(ASK, assistant(b_think(), {"text": "x"}), GO), CLAUDE).not_checkable == (
        "A23",
        "A23b",
    )
    assert verdict(TALK, CLAUDE).not_checkable == ()


@pytest.mark.parametrize(
    "content",
    [None, 7, "x", {"text": "x"}, [None, 3, {"toolUse": 5}, {"reasoningContent": {}}, {"image": {}}]],
)
def test_a_body_of_odd_shapes_is_judged_without_a_crash(content: Any) -> None:
    body = {
        "messages": [{"role": content, "content": content}, {"role": "assistant", "content": content}, 5],
        "toolConfig": content,
    }
    for called in (THINKING, NOVA, MISTRAL):
        verdict(body, called)
        verdict({"messages": content, "inferenceConfig": content}, called)
