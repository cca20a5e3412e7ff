"""What Gemini refuses, each beside the nearest history that it takes (docs/contract/wire.md#4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.protocols.histories import Pair, contents, gcall, gout, holds, human, model, target, verdict

GEMINI2 = target("gemini", "gemini-2.5-pro")
GEMINI3 = target("gemini", "gemini-3-x")
GEMINI36 = target("gemini", "gemini-3.6-pro")
VERTEX = target("gemini", "gemini-2.5-pro", provider="google-vertex")

GO = human({"text": "continue"})
SIGNED = {"thoughtSignature": "CiQB"}
LOOP = contents(human(), model(gcall(**SIGNED)), human(gout()), GO)
TALK = contents(human(), model({"text": "done"}), GO)


def tool(parameters: dict[str, Any]) -> dict[str, Any]:
    return {**TALK, "tools": [{"functionDeclarations": [{"name": "f", "parameters": parameters}]}]}


PAIRS = [
    Pair(
        "G1",
        contents(human(), model(gcall(), gcall()), human(gout()), human(gout()), GO),
        contents(human(), model(gcall(), gcall()), human(gout(), gout()), GO),
        "the number of function response parts is equal to the number of function call parts",
        GEMINI2,
    ),
    Pair(
        "G2",
        contents(human(), model({"text": "x"}), model(gcall()), human(gout()), GO),
        LOOP,
        "function call turn comes immediately after a user turn",
        GEMINI2,
    ),
    Pair(
        "G2",
        contents(model(gcall()), human(gout()), GO),
        LOOP,
        "function call turn comes immediately after",
        GEMINI2,
        name="first",
    ),
    Pair(
        "G3",
        contents(human(), model({"text": "x"}), human(gout()), GO),
        LOOP,
        "function response turn comes immediately after a function call turn",
        GEMINI2,
    ),
    Pair(
        "G4",
        contents(human(), model(gcall())),
        contents(human(), model(gcall(**SIGNED), gcall()), human(gout(), gout())),
        "Function call is missing a thought_signature in functionCall parts.",
        GEMINI3,
        position="contents[1]",
    ),
    Pair(
        "G5",
        contents(human(), model(gcall(thoughtSignature="!!")), human(gout())),
        LOOP,
        "Thought signature is not valid",
        GEMINI3,
        warns=True,
    ),
    Pair(
        "G6",
        contents(human(), model({"text": "x"}, {"text": "", **SIGNED}), GO),
        TALK,
        "GenerateContentRequest.contents[1].parts[1].data: required oneof field 'data' must have one initialized field",
        GEMINI2,
    ),
    Pair(
        "G7",
        contents(human(), {"role": "model", "parts": []}, GO),
        TALK,
        "contents.parts must not be empty",
        GEMINI2,
    ),
    Pair(
        "G7",
        contents(human(), {"role": "model", "parts": []}, GO),
        TALK,
        "must include at least one parts field",
        VERTEX,
        name="vertex",
    ),
    Pair(
        "G8",
        contents(human(), model({"text": "x"})),
        contents(human(), model({"text": "x"})),
        "Requests ending with a model turn are not supported.",
        GEMINI36,
        legal_target=GEMINI3,
    ),
    Pair(
        "G9",
        contents(human(), model(gcall(**SIGNED)), human(gout(), {"text": "x"}), GO),
        LOOP,
        "Requests ending with a model turn",
        GEMINI36,
    ),
    Pair(
        "G10",
        contents(human(), {"role": "assistant", "parts": [{"text": "x"}]}, GO),
        TALK,
        "Please use a valid role: user, model.",
        GEMINI2,
    ),
    Pair(
        "G11",
        contents(human(), model(gcall("2nd")), human(gout("2nd")), GO),
        LOOP,
        "Invalid function name. Must start with a letter",
        GEMINI2,
    ),
    Pair(
        "G11",
        contents(human(), model(gcall("f" * 65)), human(gout("f" * 65)), GO),
        LOOP,
        "maximum length of 64",
        GEMINI2,
        warns=True,
        name="between-the-limits",
    ),
    Pair(
        "G13",
        contents(
            human({"inlineData": {"mimeType": "image/png", "data": "A" * 20_971_521}}),
            model({"text": "x"}),
            GO,
        ),
        contents(
            human({"inlineData": {"mimeType": "image/png", "data": "A" * 20_971_520}}),
            model({"text": "x"}),
            GO,
        ),
        "payload size exceeds the limit",
        GEMINI2,
        warns=True,
    ),
    Pair(
        "G14",
        tool({"type": "object", "properties": {"a": {"type": "array"}}}),
        tool(
            {
                "type": "object",
                "properties": {"a": {"type": "array", "items": {"type": "string", "enum": ["x"]}}},
                "required": ["a"],
            }
        ),
        "parameters.properties.a.items: missing field.",
        GEMINI2,
    ),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_a_broken_rule_is_refused_and_the_nearest_legal_history_is_not(pair: Pair) -> None:
    holds(pair)


def test_calls_of_earlier_turns_need_no_signature() -> None:
    unsigned = contents(human(), model(gcall()), human(gout()), GO)
    assert verdict(unsigned, GEMINI3).accepted


def test_the_documented_sentinel_counts_as_a_signature() -> None:
    body = contents(human(), model(gcall(thoughtSignature="skip_thought_signature_validator")), human(gout()))
    assert verdict(body, GEMINI3).violations == ()


def test_alternation_of_text_and_mismatched_names_are_no_rules() -> None:
    judged = verdict(contents(human(), human(), model({"text": "x"}), model({"text": "y"}), GO), GEMINI3)
    assert judged.accepted
    assert verdict(contents(human(), model(gcall("a")), human(gout("b")), GO), GEMINI3).accepted


def test_a_history_of_text_may_start_with_the_model() -> None:
    assert verdict(contents(model({"text": "x"}), GO), GEMINI3).accepted


def test_genuineness_of_signatures_is_left_to_the_server() -> None:
    assert verdict(LOOP, GEMINI3).not_checkable == ("G5",)
    assert verdict(TALK, GEMINI3).not_checkable == ()


@pytest.mark.parametrize(
    "content", [None, 7, "x", {"type": "text"}, [None, 3, {"functionCall": 5}, {"functionResponse": None}]]
)
def test_a_body_of_odd_shapes_is_judged_without_a_crash(content: Any) -> None:
    verdict(
        {
            "contents": [{"role": content, "parts": content}, {"role": "model", "parts": content}, 5],
            "tools": content,
        },
        GEMINI36,
    )
    verdict({"contents": content}, GEMINI36)
