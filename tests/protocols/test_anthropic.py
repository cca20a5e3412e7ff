"""What the Messages API refuses, each beside the nearest history that it takes (docs/contract/wire.md#1b)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.protocols.histories import (
    GO,
    Pair,
    a_image,
    a_result,
    a_text,
    a_think,
    a_use,
    assistant,
    holds,
    jpeg,
    msgs,
    png,
    system,
    target,
    user,
    verdict,
)

CLAUDE = target("anthropic-messages", "claude-x")
THINKING = target("anthropic-messages", "claude-x", "on")
OPUS = target("anthropic-messages", "claude-opus-4-8")
SONNET45 = target("anthropic-messages", "claude-sonnet-4-5-20250929")
VERTEX = target("anthropic-messages", "claude-x", provider="google-vertex-anthropic")
OLDER = target("anthropic-messages", "claude-x", provider="some-gateway", profile="anthropic-older")

ASK = user(a_text("do it"))
TOOLS = msgs(ASK, assistant(a_use()), user(a_result(), a_text("continue")))
TALK = msgs(ASK, assistant(a_text("done")), GO)
SIGNED = msgs(ASK, assistant(a_think(), a_use()), user(a_result(), a_text("continue")))
TOOL: dict[str, Any] = {"name": "bash", "input_schema": {"type": "object"}}
MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def shown(*images: dict[str, Any]) -> dict[str, Any]:
    return msgs(user(a_text("look"), *images), assistant(a_text("seen")), GO)


PAIRS = [
    Pair(
        "A1",
        msgs(ASK, assistant(a_use()), GO),
        TOOLS,
        "messages.1: `tool_use` ids were found without",
        CLAUDE,
        position="messages.1",
    ),
    Pair(
        "A1",
        msgs(ASK, assistant(a_use("t1"), a_use("t2")), user(a_result("t1"), a_text("x"), a_result("t2"))),
        msgs(ASK, assistant(a_use("t1"), a_use("t2")), user(a_result("t2")), user(a_result("t1"), a_text("x"))),
        "immediately after: t2. Each",
        CLAUDE,
        name="late",
    ),
    Pair(
        "A1",
        msgs(ASK, assistant(a_use(), a_text("behind")), user(a_result(), a_text("continue"))),
        msgs(ASK, assistant(a_text("before"), a_use()), user(a_result(), a_text("continue"))),
        "stands behind `tool_use`",
        CLAUDE,
        warns=True,
        name="behind",
    ),
    Pair(
        "A2",
        msgs(ASK, assistant(a_text("x")), user(a_result(), a_text("go"))),
        TOOLS,
        "messages.2.content.0: unexpected `tool_use_id`",
        CLAUDE,
    ),
    Pair(
        "A2",
        msgs(ASK, assistant(a_use()), user(a_result()), assistant(a_text("x")), user(a_result(), a_text("go"))),
        TOOLS,
        "blocks: toolu_1. Each `tool_result`",
        CLAUDE,
        position="messages.4.content.0",
        name="answered-before",
    ),
    Pair(
        "A2s",
        msgs(ASK, assistant({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}), GO),
        msgs(
            ASK,
            assistant(
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            ),
            GO,
        ),
        "unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1.",
        CLAUDE,
    ),
    Pair(
        "A3",
        msgs(ASK, assistant(a_use()), user(a_result()), assistant(a_use()), user(a_result(), a_text("go"))),
        msgs(
            ASK,
            assistant(a_use("t1")),
            user(a_result("t1")),
            assistant(a_use("t2")),
            user(a_result("t2"), a_text("go")),
        ),
        "messages.3.content.0: `tool_use` ids must be unique",
        CLAUDE,
    ),
    Pair(
        "A4",
        msgs(ASK, assistant(a_use()), user(a_result(), a_result(), a_text("go"))),
        TOOLS,
        "Found multiple `tool_result` blocks with id: toolu_1",
        CLAUDE,
    ),
    Pair(
        "A5",
        msgs(ASK, assistant(a_use("functions.bash:0")), user(a_result("functions.bash:0"), a_text("go"))),
        msgs(ASK, assistant(a_use("functions_bash_0")), user(a_result("functions_bash_0"), a_text("go"))),
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        CLAUDE,
    ),
    Pair(
        "A6",
        msgs(ASK, assistant(a_use(input='{"a":1}')), user(a_result(), a_text("go"))),
        TOOLS,
        "messages.1.content.0.tool_use.input: Input should be an object",
        CLAUDE,
    ),
    Pair(
        "A6",
        msgs(
            ASK,
            assistant({"type": "tool_use", "id": "toolu_1", "name": "bash"}),
            user(a_result(), a_text("go")),
        ),
        TOOLS,
        "tool_use.input: Field required",
        CLAUDE,
        name="missing",
    ),
    Pair(
        "A6",
        msgs(ASK, assistant(a_use(input=[1])), user(a_result(), a_text("go"))),
        TOOLS,
        "Input should be a valid dictionary",
        OLDER,
        name="older-words",
    ),
    Pair(
        "A7",
        msgs(ASK, assistant(a_use(name="browser.tabs")), user(a_result(), a_text("go"))),
        TOOLS,
        "messages.1.content.0.tool_use.name: String should match pattern",
        CLAUDE,
    ),
    Pair(
        "A7",
        {**TALK, "tools": [TOOL, TOOL]},
        {**TALK, "tools": [TOOL]},
        "tools: Tool names must be unique.",
        OPUS,
        name="definitions",
    ),
    Pair(
        "A8",
        msgs(ASK, assistant(a_text("")), GO),
        TALK,
        "messages: text content blocks must be non-empty",
        CLAUDE,
        position="messages.1.content.0",
    ),
    Pair(
        "A9",
        msgs(ASK, assistant(a_text(" \n")), GO),
        TALK,
        "messages: text content blocks must contain non-whitespace text",
        CLAUDE,
    ),
    Pair(
        "A9",
        {**TALK, "system": [a_text(" ")]},
        {**TALK, "system": [a_text("be")]},
        "system: text content blocks must contain",
        CLAUDE,
        name="system",
    ),
    Pair("A10", msgs(user("")), msgs(GO), "user messages must have non-empty content", CLAUDE),
    Pair(
        "A10o",
        msgs(ASK, assistant(), GO),
        TALK,
        "messages.1: all messages must have non-empty content except for the optional final assistant message",
        OLDER,
    ),
    Pair(
        "A12",
        msgs(user(a_text("do it"), {**a_text(""), **MARK})),
        msgs(user({**a_text("do it"), **MARK})),
        "messages.0.content.1.text: cache_control cannot be set for empty text blocks",
        CLAUDE,
    ),
    Pair(
        "A13",
        msgs(user(*[{**a_text(), **MARK} for _ in range(5)])),
        msgs(user(*[{**a_text(), **MARK} for _ in range(4)])),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        OPUS,
    ),
    Pair(
        "A14",
        msgs(user({**a_text(), **MARK}, {**a_text(), **HOUR})),
        msgs(user({**a_text(), **HOUR}, {**a_text(), **MARK})),
        "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after",
        OPUS,
    ),
    Pair(
        "A15",
        msgs(ASK, assistant(a_think(**MARK), a_text("x")), GO),
        msgs(ASK, assistant(a_think(), {**a_text("x"), **MARK}), GO),
        "Extra inputs are not permitted",
        CLAUDE,
    ),
    Pair(
        "A16",
        msgs(ASK, assistant(a_text("so "))),
        msgs(ASK, assistant(a_text("so"))),
        "final assistant content cannot end",
        SONNET45,
    ),
    Pair(
        "A17",
        msgs(ASK, assistant(a_text("so"))),
        msgs(ASK, assistant(a_text("so"))),
        "This model does not support assistant message prefill.",
        OPUS,
        legal_target=SONNET45,
    ),
    Pair("A17", msgs(ASK, assistant(a_text("so"))), TALK, "prefill", CLAUDE, warns=True, name="unknown-model"),
    Pair(
        "A18",
        msgs(ASK, assistant(a_think())),
        TALK,
        "messages.1: The final block in an assistant message cannot be `thinking`.",
        OPUS,
    ),
    Pair(
        "A19",
        msgs(assistant(a_text("x")), GO),
        TALK,
        'messages: first message must use the "user" role',
        CLAUDE,
    ),
    Pair("A19", msgs(), TALK, "messages: at least one message is required", CLAUDE, name="none"),
    Pair("A20", msgs(ASK, GO), TALK, 'found multiple "user" roles in a row', OLDER, warns=True),
    Pair(
        "A21",
        msgs(ASK, assistant(a_use()), user(a_result(), a_text("continue"))),
        SIGNED,
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
        THINKING,
        position="messages.1.content.0.type",
    ),
    Pair(
        "A21",
        msgs(ASK, assistant(a_text("x"), a_use()), user(a_result()), assistant(a_think(), a_text("done")), GO),
        msgs(ASK, assistant(a_think(), a_use()), user(a_result()), assistant(a_text("done")), GO),
        "allowed: not the final turn",
        THINKING,
        warns=True,
        name="earlier",
    ),
    Pair(
        "A21b",
        msgs(ASK, assistant(a_think(), a_text("so"))),
        msgs(ASK, assistant(a_think(), a_text("so"))),
        "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.",
        SONNET45,
        legal_target=target("anthropic-messages", "claude-sonnet-4-5-20250929", "on"),
    ),
    Pair(
        "A21c",
        {**TALK, "thinking": {"type": "enabled", "budget_tokens": 1024}, "temperature": 0.2},
        {**TALK, "thinking": {"type": "enabled", "budget_tokens": 1024}, "temperature": 1},
        "temperature may only be set to 1 when thinking is enabled",
        SONNET45,
    ),
    Pair(
        "A21c",
        {**TALK, "thinking": {"type": "enabled"}, "tools": [TOOL], "tool_choice": {"type": "any"}},
        {**TALK, "thinking": {"type": "enabled"}, "tools": [TOOL], "tool_choice": {"type": "auto"}},
        "Thinking may not be enabled when tool_choice forces tool use.",
        SONNET45,
        name="forced",
    ),
    Pair(
        "A22",
        msgs(ASK, system(a_text("now"))),
        TALK,
        "role 'system' is not supported on this model",
        SONNET45,
    ),
    Pair(
        "A22",
        msgs(ASK, assistant(a_text("x")), system(a_text("now")), GO),
        msgs(ASK, system(a_text("now")), assistant(a_text("x")), GO),
        "is not allowed at this position",
        OPUS,
        name="place",
    ),
    Pair(
        "A23",
        msgs(ASK, assistant(a_think(""), a_text("x")), GO),
        msgs(ASK, assistant(a_think(), a_text("x")), GO),
        "empty text",
        CLAUDE,
        warns=True,
    ),
    Pair(
        "A23b",
        msgs(ASK, assistant(a_think(signature=""), a_text("x")), GO),
        SIGNED,
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        CLAUDE,
    ),
    Pair(
        "A23c",
        msgs(ASK, assistant({"type": "thinking", "thinking": "hm"}, a_text("x")), GO),
        msgs(ASK, assistant(a_think(), a_text("x")), GO),
        "messages.1.content.0.thinking.signature: Field required",
        CLAUDE,
    ),
    Pair(
        "A25",
        msgs(ASK, assistant(a_use()), user(a_result(is_error=True, content=[a_image()]), a_text("go"))),
        msgs(ASK, assistant(a_use()), user(a_result(content=[a_image()]), a_text("go"))),
        "messages.2.content.0.tool_result: all content must be type `text` if `is_error` is true",
        CLAUDE,
    ),
    Pair(
        "A26",
        shown(a_image(png(8001, 10))),
        shown(a_image(png(8000, 10))),
        "exceed max allowed size: 8000 pixels",
        CLAUDE,
    ),
    Pair(
        "A26",
        shown(*[a_image(png(2001, 10)) for _ in range(21)]),
        shown(*[a_image(png(2001, 10)) for _ in range(20)]),
        "max allowed size for many-image requests: 2000 pixels",
        CLAUDE,
        name="many",
    ),
    Pair(
        "A27",
        shown(a_image(png(size=10_485_764))),
        shown(a_image(png(size=10_485_700))),
        "image exceeds 10 MB maximum: 10485764 bytes > 10485760 bytes",
        CLAUDE,
        position="messages.0.content.1.image.source.base64",
    ),
    Pair(
        "A27",
        shown(a_image(png(size=5_895_160))),
        shown(a_image(png(size=5_242_000))),
        "image exceeds 5 MB maximum: 5895160 bytes",
        VERTEX,
        name="vertex",
    ),
    Pair(
        "A28",
        shown(a_image(jpeg(), "image/png")),
        shown(a_image(jpeg(), "image/jpeg")),
        "specified using the image/png media type, but the image appears to be a image/jpeg image",
        CLAUDE,
    ),
    Pair("A28", shown(a_image("")), shown(a_image()), "Could not process image", CLAUDE, name="empty"),
    Pair(
        "A29",
        shown(*[a_image() for _ in range(101)]),
        shown(*[a_image() for _ in range(100)]),
        "too many images: 101 > 100",
        SONNET45,
    ),
    Pair(
        "A29",
        msgs(user(a_text("x" * 33_554_433))),
        msgs(user(a_text("x" * 33_554_000))),
        "request_too_large",
        OPUS,
        name="bytes",
    ),
    Pair(
        "A30",
        {**TALK, "thinking": {"type": "enabled"}},
        {**TALK, "thinking": {"type": "adaptive"}},
        "is not supported for this model",
        OPUS,
    ),
    Pair("A30", {**TALK, "temperature": 0.5}, TALK, "`temperature` is not supported", OPUS, name="sampling"),
    Pair(
        "A31",
        msgs(ASK, assistant(a_use(input={"pattern": "ok \ud83d"})), user(a_result(), a_text("go"))),
        msgs(ASK, assistant(a_use(input={"pattern": "ok \U0001f600"})), user(a_result(), a_text("go"))),
        "The request body is not valid JSON: no low surrogate in string",
        CLAUDE,
    ),
    Pair(
        "A32",
        {**TALK, "tools": [{**TOOL, "defer_loading": True}]},
        {**TALK, "tools": [{**TOOL, "defer_loading": True}, {**TOOL, "name": "read"}]},
        "All tools have defer_loading set",
        OPUS,
    ),
    Pair(
        "A33",
        {**TALK, "tool_choice": {"type": "auto"}},
        {**TALK, "tools": [TOOL], "tool_choice": {"type": "auto"}},
        "tool_choice: may only be specified while providing tools",
        OPUS,
        warns=True,
    ),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_a_broken_rule_is_refused_and_the_nearest_legal_history_is_not(pair: Pair) -> None:
    holds(pair)


U, A, R1, R2 = user(a_text("u")), assistant(a_text("a")), a_result("tc_1"), a_result("tc_2")
TWO = assistant(a_use("tc_1"), a_use("tc_2"))
ONE = assistant(a_use("tc_1"))
MORE = a_text("more")
MEASURED: list[tuple[str, dict[str, Any], str]] = [
    ("a[text] | u", msgs(A, U), "A19"),
    ("u | a[text]", msgs(U, A), "A17"),
    ("u | a[thinking]", msgs(U, assistant(a_think())), "A18"),
    ("u | a[tool_use] | u[text]", msgs(U, ONE, U), "A1"),
    ("u | a[tool_use] | u[R] | u[text]", msgs(U, ONE, user(R1), U), ""),
    ("u | a[use x2] | u[R1,text] | u[R2]", msgs(U, TWO, user(R1, MORE), user(R2)), "A1"),
    ("u | a[use] | u[text,R1]", msgs(U, ONE, user(MORE, R1)), "A1"),
    ("u | a[use x2] | u[R2] | u[R1,text]", msgs(U, TWO, user(R2), user(R1, MORE)), ""),
    ("u | a[use tc_1] | u[R tc_999]", msgs(U, ONE, user(a_result("tc_999"))), "A2"),
    ("u | a[use x2] | u[R1] | u 'text' | u[R2]", msgs(U, TWO, user(R1), user("text"), user(R2)), "A1"),
    ('u | a[{text:""}] | u', msgs(U, assistant(a_text("")), U), "A8"),
    ('u | a[{text:"  "}] | u', msgs(U, assistant(a_text("  ")), U), "A9"),
    ('u ""', msgs(user("")), "A10"),
    ("u | u", msgs(U, U), ""),
    ("u | u | u", msgs(U, U, U), ""),
    ("u | a | a | u", msgs(U, A, A, U), ""),
    ("u | a[] | u", msgs(U, assistant(), U), ""),
    ('u | a "" | u', msgs(U, assistant(""), U), ""),
    ("u | a[thinking] | u", msgs(U, assistant(a_think()), U), ""),
    ("u | a[text,thinking] | u", msgs(U, assistant(a_text("a"), a_think()), U), ""),
]


@pytest.mark.parametrize(("body", "rule"), [case[1:] for case in MEASURED], ids=[case[0] for case in MEASURED])
def test_shapes_measured_on_the_real_api_get_the_measured_answer(body: dict[str, Any], rule: str) -> None:
    judged = verdict(body, OPUS)
    assert rule in [one.rule for one in judged.violations] if rule else judged.accepted


def test_a_repeated_id_is_told_as_repeated_call_before_repeated_result() -> None:
    judged = verdict(msgs(ASK, assistant(a_use(), a_use()), user(a_result(), a_result(), a_text("go"))), CLAUDE)
    assert [one.rule for one in judged.violations] == ["A3", "A4"]


def test_blanks_that_the_client_puts_between_signed_thinking_are_only_a_warning() -> None:
    judged = verdict(
        msgs(ASK, assistant(a_think(), a_text(" "), a_think(), a_use()), user(a_result(), a_text("go"))),
        CLAUDE,
    )
    assert judged.accepted
    assert [one.rule for one in judged.warnings] == ["A9"]


def test_signed_thinking_with_empty_text_is_right_where_the_model_omits_it() -> None:
    judged = verdict(msgs(ASK, assistant(a_think(""), a_use()), user(a_result(), a_text("go"))), OPUS)
    assert judged.accepted
    assert judged.warnings == ()


def test_user_text_behind_the_results_does_not_end_the_tool_loop() -> None:
    split = msgs(ASK, assistant(a_text("x"), a_use()), user(a_result()), GO)
    assert [one.rule for one in verdict(split, THINKING).violations] == ["A21"]


def test_a_model_that_thinks_adaptively_is_only_warned_about_a_turn_without_thinking() -> None:
    body = msgs(ASK, assistant(a_use()), user(a_result(), a_text("continue")))
    judged = verdict(body, target("anthropic-messages", "claude-opus-4-6", "on"))
    assert judged.accepted
    assert [one.rule for one in judged.warnings] == ["A21"]


def test_request_rules_on_an_unknown_model_are_only_warnings() -> None:
    judged = verdict({**TALK, "tools": [TOOL, TOOL]}, CLAUDE)
    assert judged.accepted
    assert [one.rule for one in judged.warnings] == ["A7"]


def test_what_only_the_server_can_decide_is_a_third_outcome() -> None:
    assert verdict(SIGNED, CLAUDE).not_checkable == ("A23", "A23b")
    assert verdict(SIGNED, target("anthropic-messages", "claude-opus-5-5")).not_checkable == (
        "A23",
        "A23b",
        "A24",
    )
    assert verdict(TALK, CLAUDE).not_checkable == ()


def test_a_server_of_unknown_make_is_not_held_to_what_its_kind_let_pass() -> None:
    loose = msgs(
        ASK,
        assistant(a_text(" "), a_use(input={"a": "\ud83d"}, name="a.b")),
        user(a_result(content=[a_image("")]), a_text("go")),
    )
    judged = verdict(loose, OLDER)
    assert judged.accepted
    assert {one.rule for one in judged.warnings} == {"A9", "A31", "A7", "A28"}


@pytest.mark.parametrize("content", [None, 7, "x", {"type": "text"}, [None, 3, {"type": 5}]])
def test_a_body_of_odd_shapes_is_judged_without_a_crash(content: Any) -> None:
    verdict(
        msgs(
            {"role": 5, "content": content},
            {"role": "user", "content": content},
            {"role": "assistant", "content": content},
        ),
        THINKING,
    )
    verdict(
        {
            "messages": content,
            "tools": content,
            "system": content,
            "thinking": content,
            "tool_choice": content,
        },
        THINKING,
    )
