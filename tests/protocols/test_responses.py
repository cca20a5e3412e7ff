"""What the Responses API refuses, each beside the nearest history that it takes (docs/contract/wire.md#3)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.protocols.histories import (
    Pair,
    answered,
    asked,
    fcall,
    fout,
    holds,
    items,
    png,
    target,
    thought,
    verdict,
)

OPENAI = target("openai-responses", "gpt-5.2")
DEEPSEEK = target("openai-responses", "deepseek-x", "on", provider="deepseek")

LOOP = items(asked(), thought(), fcall(), fout())
TALK = items(asked(), answered())


def shot(data: str) -> dict[str, Any]:
    return {"type": "input_image", "image_url": f"data:image/png;base64,{data}"}


PAIRS = [
    Pair(
        "R1",
        items(asked(), fcall()),
        items(asked(), fcall(), answered(), fout()),
        "No tool output found for function call call_1.",
        OPENAI,
        position="input[1]",
    ),
    Pair(
        "R2",
        items(asked(), fout()),
        LOOP,
        "No tool call found for function call output with call_id call_1.",
        OPENAI,
    ),
    Pair(
        "R2",
        items(asked(), {"type": "item_reference", "id": "fc_1"}, fout(), store=True),
        LOOP,
        "No tool call found",
        OPENAI,
        name="a-reference-is-no-call",
    ),
    Pair(
        "R3",
        items(asked(), thought(id="rs_abc1")),
        items(asked(), thought(id="rs_abc1"), fcall(id="fc_1"), fout()),
        "Item 'rs_abc1' of type 'reasoning' was provided without its required following item.",
        OPENAI,
    ),
    Pair(
        "R4",
        items(
            asked(),
            thought(id="rs_1"),
            fcall(id="fc_1"),
            fout(),
            asked(),
            fcall("call_2", id="fc_2"),
            fout("call_2"),
        ),
        items(asked(), thought(id="rs_1"), fcall(id="fc_1"), fout(), asked(), fcall("call_2"), fout("call_2")),
        "Item 'fc_2' of type 'function_call' was provided without its required 'reasoning' item",
        OPENAI,
        warns=True,
    ),
    Pair(
        "R5",
        items(asked(), answered(id="X1")),
        items(asked(), answered(id="msg_1")),
        "Invalid 'input[1].id': 'X1'. Expected an ID that begins with 'msg'.",
        OPENAI,
    ),
    Pair(
        "R6",
        items(asked(), answered(id="")),
        TALK,
        "Expected an ID that contains letters, numbers, underscores, or dashes",
        OPENAI,
    ),
    Pair(
        "R6",
        items(asked(), answered(id="msg_" + "a" * 61)),
        items(asked(), answered(id="msg_" + "a" * 60)),
        "maximum length 64",
        OPENAI,
        name="long",
    ),
    Pair(
        "R7",
        items(asked(), fcall("c" * 65), fout("c" * 65)),
        items(asked(), fcall("c" * 64), fout("c" * 64)),
        "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64, but got a string with"
        " length 65 instead.",
        OPENAI,
    ),
    Pair(
        "R8",
        items(asked(), answered(id="msg_1"), answered(id="msg_1")),
        items(asked(), answered(id="msg_1")),
        "Duplicate item found with id msg_1.",
        OPENAI,
    ),
    Pair(
        "R9",
        items(asked(), {"type": "item_reference", "id": "rs_def2"}, answered()),
        items(asked(), {"type": "item_reference", "id": "rs_def2"}, answered(), store=True),
        "Item with id 'rs_def2' not found. Items are not persisted when `store` is set to false.",
        OPENAI,
    ),
    Pair(
        "R10",
        items(asked(), thought(encrypted_content="Ci..."), answered()),
        items(asked(), thought(encrypted_content="gAAAAx"), answered()),
        "could not be verified",
        OPENAI,
        warns=True,
    ),
    Pair(
        "R11",
        items(asked(), {"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}),
        TALK,
        "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        OPENAI,
        position="input[1].content[0]",
    ),
    Pair(
        "R12",
        items(asked(), {"type": "reasoning", "encrypted_content": "gAAA"}, answered()),
        items(asked(), thought(), answered()),
        "Missing required parameter: 'input[1].summary'.",
        OPENAI,
    ),
    Pair(
        "R13",
        items(asked(), thought(content=[{"type": "reasoning_text", "text": "x"}]), answered()),
        items(asked(), thought(content=[]), answered()),
        "Invalid 'input[1].content': array too long. Expected an array with maximum length 0, but got an array with"
        " length 1 instead.",
        OPENAI,
    ),
    Pair(
        "R14",
        items(asked(), fcall(name="a.b"), fout()),
        LOOP,
        "Invalid 'input[1].name': string does not match pattern.",
        OPENAI,
    ),
    Pair(
        "R14",
        items(asked(), fcall(arguments={}), fout()),
        LOOP,
        "Invalid type for 'input[1].arguments': expected a string",
        OPENAI,
        name="arguments",
    ),
    Pair(
        "R15",
        items(asked(), {"type": "reasoning", "summary": []}, answered()),
        items(asked(), thought(), answered()),
        "'input[1].encrypted_content'",
        OPENAI,
    ),
    Pair(
        "R16",
        items(asked(), fcall("terminal:0"), fout("terminal:0"), asked(), fcall("terminal:0"), fout("terminal:0")),
        items(asked(), fcall("terminal:0"), fout("terminal:0"), asked(), fcall("terminal:1"), fout("terminal:1")),
        "Duplicate function_call_output for call_id 'terminal:0'. Each function_call must have exactly one matching"
        " function_call_output",
        OPENAI,
    ),
    Pair(
        "R16",
        items(asked(), fcall(), fcall(), fout()),
        LOOP,
        "already used by input[1]",
        OPENAI,
        warns=True,
        name="calls",
    ),
    Pair(
        "R17",
        items(asked(), fcall(), fout()),
        LOOP,
        "The `reasoning_text` in the thinking mode must be passed back to the API.",
        DEEPSEEK,
    ),
    Pair("A31", items(asked(), answered("\ud83d")), TALK, "no low surrogate", OPENAI),
    Pair(
        "R-size",
        items(asked(), fcall(arguments="x" * 1_048_577), fout()),
        LOOP,
        "Invalid 'input[1].arguments': string too long. Expected a string with maximum length 1048576, but got a string"
        " with length 1048577",
        OPENAI,
    ),
    Pair(
        "R-media",
        items(asked(), fcall(), fout(output=[shot("####")])),
        items(asked(), fcall(), fout(output=[shot(png())])),
        "does not represent a valid image",
        OPENAI,
        position="input[2].output[0]",
    ),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_a_broken_rule_is_refused_and_the_nearest_legal_history_is_not(pair: Pair) -> None:
    holds(pair)


@pytest.mark.parametrize(
    "body",
    [
        items(asked(), asked()),
        {"input": [asked(), answered()], "store": False},
        items(answered()),
        items(asked(), fcall(), fcall("call_2"), asked(), fout("call_2"), fout()),
    ],
)
def test_alternation_tail_and_adjacency_are_no_rules_here(body: dict[str, Any]) -> None:
    judged = verdict(body, OPENAI)
    assert judged.accepted
    assert judged.warnings == ()


def test_ids_and_encrypted_content_are_left_to_the_server() -> None:
    body = items(asked(), thought(id="rs_1"), answered(id="msg_1"), store=True)
    assert verdict(body, OPENAI).not_checkable == ("R9", "R10")
    assert verdict(TALK, OPENAI).not_checkable == ()


@pytest.mark.parametrize("content", [None, 7, "x", {"type": "text"}, [None, 3, {"type": 5}]])
def test_a_body_of_odd_shapes_is_judged_without_a_crash(content: Any) -> None:
    kinds = ("reasoning", "message", "function_call", "function_call_output", "item_reference", content)
    odd = [
        {
            "type": kind,
            "role": content,
            "content": content,
            "id": content,
            "call_id": content,
            "output": content,
        }
        for kind in kinds
    ]
    for called in (OPENAI, DEEPSEEK):
        verdict({"input": [*odd, 5], "store": False}, called)
        verdict({"input": content}, called)
