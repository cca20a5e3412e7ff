"""What Chat Completions and its strict compatible servers refuse, each beside the nearest history that they take
(docs/contract/wire.md#2)."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.domain.protocols.openai_chat.profiles import PROFILES
from sessions_app.domain.wire.target import make_target
from tests.protocols.histories import ASK, Pair, call, chat, holds, png, said, target, tool, verdict

OPENAI = target("openai-chat", "gpt-x")
GPT5 = target("openai-chat", "gpt-5.2")
UNKNOWN = make_target("fake", "fake-1")
LOCAL = make_target("local", "llama-x")
DEEPSEEK = make_target("deepseek", "deepseek-chat", "on")
REASONER = make_target("deepseek", "deepseek-reasoner")
KIMI = make_target("moonshot", "kimi-x", "on")
MISTRAL = make_target("mistral", "mistral-large")
GROQ = make_target("groq", "llama-x")
FIREWORKS = make_target("fireworks-ai", "glm-x")
VLLM = make_target("vllm", "qwen-x")
QWEN = make_target("alibaba", "qwen-x")
GEMINI = target("openai-chat", "gemini-3-x", provider="google")
COPILOT = make_target("github-copilot", "claude-opus-4.8")

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + png()}}
LOOP = chat(ASK, said("", call()), tool())
TALK = chat(ASK, said("done"))
NINE = chat(ASK, said("", call("abcdefgh1")), tool("abcdefgh1"), said("Done."))
REASONED = chat(ASK, said("", call(), reasoning_content=""), tool(), said("x", reasoning_content=""))
KEYS = {"extra_content": {"google": {"thought_signature": "CiQB"}}}


def ending(*messages: dict[str, Any]) -> dict[str, Any]:
    """A body that ends with the last of these."""
    return {"messages": [{"role": "system", "content": "system"}, *messages]}


PAIRS = [
    Pair(
        "O1",
        chat(ASK, said("", call(), call("call_2")), tool()),
        LOOP,
        "The following tool_call_ids did not have response messages: call_2",
        OPENAI,
        position="messages.[4].role",
    ),
    Pair(
        "O1",
        chat(ASK, said("", call())),
        LOOP,
        "response messages: call_1 (message[2])",
        UNKNOWN,
        position="message[2]",
        name="measured-words",
    ),
    Pair(
        "O2",
        chat(ASK, said("x"), tool()),
        LOOP,
        "messages with role 'tool' must be a response to a preceeding message",
        OPENAI,
        position="messages.[3].role",
    ),
    Pair(
        "O3",
        chat(ASK, said("", call()), tool(), tool("call_9")),
        LOOP,
        "'tool_call_id' of 'call_9' not found",
        OPENAI,
    ),
    Pair(
        "O4",
        chat(ASK, said("x", tool_calls=[])),
        TALK,
        "Invalid 'messages[2].tool_calls': empty array.",
        OPENAI,
    ),
    Pair(
        "O5",
        chat(ASK, said(None)),
        chat(ASK, said(None, call()), tool()),
        "expected a string, got null.",
        OPENAI,
        position="messages.[2].content",
    ),
    Pair(
        "O5",
        chat(ASK, said(None)),
        REASONED,
        "content or tool_calls must be set",
        DEEPSEEK,
        name="deepseek-words",
    ),
    Pair("O6", chat({"role": "user"}), TALK, "Missing required parameter: 'messages[1].content'.", OPENAI),
    Pair(
        "O7",
        chat({"role": "bogus", "content": "x"}),
        TALK,
        "Invalid value: 'bogus'. Supported values are:",
        OPENAI,
    ),
    Pair("O8", {"messages": []}, TALK, "Invalid 'messages': empty array.", OPENAI),
    Pair(
        "O9",
        chat(ASK, said("", call("c" * 41)), tool("c" * 41)),
        chat(ASK, said("", call("c" * 40)), tool("c" * 40)),
        "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a"
        " string with length 41",
        OPENAI,
    ),
    Pair(
        "O10",
        chat(ASK, said("", call(function="a.b")), tool()),
        LOOP,
        "string does not match pattern",
        OPENAI,
    ),
    Pair(
        "O10",
        chat(ASK, said("", call(function="f" * 65)), tool()),
        LOOP,
        "maximum length 64, but got a string with length 65",
        OPENAI,
        name="long",
    ),
    Pair(
        "O11",
        {**TALK, "tools": [{}] * 129},
        {**TALK, "tools": [{}] * 128},
        "Invalid 'tools': array too long.",
        GPT5,
    ),
    Pair(
        "O12",
        chat(ASK, said("", call()), tool(content=[PICTURE])),
        chat({"role": "user", "content": [PICTURE]}, said("", call()), tool()),
        "Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image"
        " URL.",
        OPENAI,
    ),
    Pair(
        "O13",
        chat(ASK, said("", call(arguments={})), tool()),
        LOOP,
        "expected a string, but got an object instead.",
        OPENAI,
    ),
    Pair("O14", {**TALK, "zzz": 1}, {**TALK, "stream": True}, "Unknown parameter: 'zzz'.", GPT5),
    Pair(
        "O15",
        {**TALK, "max_tokens": 5},
        {**TALK, "max_completion_tokens": 5},
        "'max_tokens' is not supported with this model",
        GPT5,
    ),
    Pair(
        "O15",
        {**TALK, "temperature": 0.2},
        {**TALK, "temperature": 1},
        "'temperature' does not support 0.2",
        GPT5,
        name="temperature",
    ),
    Pair(
        "O18",
        chat(
            ASK,
            said("", call("functions.bash:0"), call("functions.bash:0")),
            tool("functions.bash:0"),
            tool("functions.bash:0"),
        ),
        LOOP,
        "Duplicate value for 'tool_call_id' of functions.bash:0 in message[2]",
        UNKNOWN,
        position="message[2]",
    ),
    Pair(
        "O18",
        chat(
            ASK,
            said("", call(), reasoning_content=""),
            tool(),
            ASK,
            said("", call(), reasoning_content=""),
            tool(),
        ),
        REASONED,
        "Duplicate value for 'tool_call_id' of call_1 in message[5]",
        DEEPSEEK,
        name="whole-request",
    ),
    Pair(
        "O18",
        chat(ASK, said("", call()), tool(), ASK, said("", call()), tool()),
        LOOP,
        "already used in message[2]",
        OPENAI,
        warns=True,
        name="turns",
    ),
    Pair(
        "A31",
        chat(ASK, said("half \ud83d")),
        chat(ASK, said("", call(arguments='{"a":"\\ud83d"}')), tool()),
        "no low surrogate",
        OPENAI,
    ),
    Pair(
        "S1",
        chat(ASK, said("", call()), tool()),
        REASONED,
        "The `reasoning_content` in the thinking mode must be passed back",
        DEEPSEEK,
    ),
    Pair(
        "S2",
        chat(ASK, said("x", reasoning_content="hm")),
        chat(ASK, said("x", reasoning_content="")),
        "earlier turns",
        REASONER,
        warns=True,
    ),
    Pair(
        "S3",
        chat(ASK, said("", call(), reasoning_content="")),
        REASONED,
        "(insufficient tool messages following tool_calls message)",
        DEEPSEEK,
    ),
    Pair(
        "S4",
        chat(ASK, said("", call(), reasoning_content=""), tool()),
        chat(ASK, said(None, call(), reasoning_content=""), tool()),
        "content must be null",
        DEEPSEEK,
        warns=True,
    ),
    Pair(
        "S5",
        chat(ASK, said("", call()), tool()),
        chat(ASK, said("", call(), reasoning_content="hm"), tool(), said("x")),
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
        KIMI,
    ),
    Pair(
        "S6",
        chat(ASK, said("", call(), reasoning_content=""), tool(), tool("call_9")),
        REASONED,
        "tool_call_id  is not found",
        KIMI,
    ),
    Pair(
        "S7",
        chat(ASK, said("")),
        TALK,
        "the message at position 2 with role 'assistant' must not be empty",
        KIMI,
    ),
    Pair("S7", chat(ASK, said("")), TALK, "must not be empty", UNKNOWN, warns=True, name="unknown-server"),
    Pair(
        "S8",
        chat(ASK, said("", call(), reasoning_content="")),
        REASONED,
        "did not have response messages: call_1",
        KIMI,
    ),
    Pair(
        "S9",
        chat(ASK, said("", call("call_abc")), tool("call_abc"), said("Done.")),
        NINE,
        "Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9.",
        MISTRAL,
    ),
    Pair(
        "S10",
        chat(ASK, said("", call("abcdefgh1")), tool("abcdefgh1")),
        NINE,
        "Unexpected role 'user' after role 'tool'",
        MISTRAL,
        warns=True,
    ),
    Pair(
        "S11",
        chat(ASK, said("", call("abcdefgh1")), said("x")),
        NINE,
        "Not the same number of function calls and responses",
        MISTRAL,
    ),
    Pair(
        "S12",
        chat(
            ASK,
            said("", call("abcdefgh1"), call("abcdefgh1")),
            tool("abcdefgh1"),
            tool("abcdefgh1"),
            said("x"),
        ),
        NINE,
        "Duplicate tool call id abcdefgh1 in assistant message",
        MISTRAL,
    ),
    Pair(
        "S12",
        chat(ASK, said("", call("abcdefgh1")), tool("abcdefgh2"), said("x")),
        NINE,
        "Unexpected tool call id abcdefgh2 in tool results",
        MISTRAL,
        name="unknown",
    ),
    Pair(
        "S13",
        ending(ASK, said("so")),
        ending(ASK, said("so", prefix=True)),
        "Expected last role User or Tool",
        MISTRAL,
    ),
    Pair(
        "S13",
        ending(ASK, said("so")),
        TALK,
        "the last message is an assistant message",
        UNKNOWN,
        warns=True,
        name="unknown-server",
    ),
    Pair("S14", chat(ASK, said("")), TALK, "Assistant message must have either content or tool_calls", MISTRAL),
    Pair(
        "S15",
        {"messages": [said("x"), ASK]},
        TALK,
        "Conversation must start with a user message or system message",
        MISTRAL,
    ),
    Pair(
        "S15",
        chat(ASK, said("x", prefix=True)),
        TALK,
        "Assistant message with prefix True must be last message",
        MISTRAL,
        name="prefix",
    ),
    Pair(
        "S16",
        chat(ASK, said("", call("abcdefgh1", "a.b")), tool("abcdefgh1"), said("x")),
        NINE,
        "Function name was a.b but",
        MISTRAL,
    ),
    Pair(
        "S16",
        chat(ASK, said("", call("abcdefgh1", arguments="{")), tool("abcdefgh1"), said("x")),
        NINE,
        "valid JSON",
        MISTRAL,
        name="json",
    ),
    Pair(
        "S17",
        chat({"role": "system", "content": "x"}, tool("abcdefgh1"), said("x")),
        NINE,
        "Unexpected role 'tool' after role 'system'",
        MISTRAL,
    ),
    Pair(
        "S18",
        chat(ASK, said("x", reasoning_content="hm")),
        chat(ASK, said("x", reasoning="hm")),
        "'messages.2' : for 'role:assistant' the following must be satisfied",
        GROQ,
    ),
    Pair(
        "S19",
        chat(ASK, said("x", reasoning="hm")),
        chat(ASK, said("x", reasoning_content="hm")),
        "Extra inputs are not permitted, field: 'messages[2].reasoning'",
        FIREWORKS,
    ),
    Pair(
        "S19",
        chat(ASK, said("", call(**KEYS)), tool()),
        LOOP,
        "messages[2].tool_calls[0].extra_content",
        FIREWORKS,
        name="call",
    ),
    Pair("S21", chat(ASK), TALK, "Conversation roles must alternate", VLLM, warns=True),
    Pair(
        "S21",
        chat(ASK, said("", call(arguments="{")), tool()),
        LOOP,
        "not valid JSON",
        VLLM,
        warns=True,
        name="json",
    ),
    Pair(
        "S21",
        chat({"role": "user", "content": "x"}, {"role": "system", "content": "x"}, said("y")),
        TALK,
        "at the beginning",
        VLLM,
        warns=True,
        name="system",
    ),
    Pair(
        "S22",
        chat(ASK, said("", call())),
        LOOP,
        "<400> InternalError.Algo.InvalidParameter: An assistant message",
        QWEN,
    ),
    Pair(
        "S22",
        chat(ASK, said("", call(arguments="{")), tool()),
        LOOP,
        "must be in JSON format.",
        QWEN,
        name="json",
    ),
    Pair(
        "S23",
        ending(ASK, said("", call()), tool()),
        ending(ASK, said("", call(**KEYS), call("call_2")), tool(), tool("call_2")),
        "missing a thought_signature in functionCall parts",
        GEMINI,
    ),
    Pair("S24", ending(ASK, said("so")), TALK, "does not support assistant message prefill", COPILOT),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_a_broken_rule_is_refused_and_the_nearest_legal_history_is_not(pair: Pair) -> None:
    holds(pair)


FREE = [
    chat(ASK, ASK),
    chat(said("first")),
    ending(ASK, said("last")),
    chat({"role": "system", "content": "again"}, ASK),
    chat(ASK, said("")),
    chat({"role": "user", "content": ""}, said("x")),
    chat(ASK, said("", call()), tool(content="")),
]


@pytest.mark.parametrize("body", FREE)
def test_what_openai_was_measured_to_take_is_not_flagged(body: dict[str, Any]) -> None:
    judged = verdict(body, OPENAI)
    assert judged.accepted
    assert judged.warnings == ()


def test_azure_is_judged_as_openai_is() -> None:
    broken = chat(ASK, said(None), said("", call(arguments={})), tool())
    azure = target("openai-chat", "gpt-x", provider="azure")
    assert [one.error for one in verdict(broken, azure).violations] == [
        one.error for one in verdict(broken, OPENAI).violations
    ]


def test_a_reused_id_is_harmless_where_the_server_pairs_by_position() -> None:
    reused = chat(ASK, said("", call("call_0")), tool("call_0"), ASK, said("", call("call_0")), tool("call_0"))
    judged = verdict(reused, LOCAL)
    assert judged.accepted
    assert [one for one in judged.warnings if one.rule == "O18"] == []


def test_an_id_between_the_limits_is_a_warning_away_from_openai() -> None:
    body = chat(ASK, said("", call("c" * 50)), tool("c" * 50))
    judged = verdict(body, KIMI)
    assert judged.accepted is False  # kimi thinks, so reasoning_content is missing
    assert {one.rule for one in judged.warnings} == {"O9"}
    assert {one.rule for one in judged.violations} == {"S5"}


def test_a_model_that_always_thinks_wants_its_field_whatever_the_target_says() -> None:
    body = chat(ASK, said("", call()), tool())
    assert [one.rule for one in verdict(body, REASONER).violations] == ["S1"]
    assert verdict(body, make_target("deepseek", "deepseek-chat")).accepted


def test_a_profile_can_be_chosen_by_hand() -> None:
    body = chat(ASK, said("", call("call_abc")), tool("call_abc"), said("x"))
    assert verdict(body, UNKNOWN).accepted
    assert not verdict(body, target("openai-chat", "m", provider="fake", profile="mistral")).accepted


def test_image_tiling_is_left_to_the_server() -> None:
    assert verdict(chat({"role": "user", "content": [PICTURE]}), OPENAI).not_checkable == ("O16",)
    assert verdict(TALK, OPENAI).not_checkable == ()


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("content", [None, 7, "x", {"type": "text"}, [None, 3, {"type": 5}]])
def test_a_body_of_odd_shapes_is_judged_without_a_crash(profile: str, content: Any) -> None:
    called = target("openai-chat", "m", "on", "fake", profile)
    odd = {"role": "assistant", "content": content, "tool_calls": content}
    calls = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": content, "function": content}, {"function": {"arguments": content}}],
    }
    verdict({"messages": [odd, calls, {"role": content}, {"role": "tool", "tool_call_id": content}, 5]}, called)
    verdict({"messages": content, "tools": content}, called)
