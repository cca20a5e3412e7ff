"""Paste an error: which rule it is, what position it names, and which stored part that is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sessions_app.domain.judging import verdict
from sessions_app.domain.locate import locate, raised_by
from sessions_app.domain.wire.target import make_target, parse_target
from tests.factories.v1rows import FINISH, START, assistant, session, text, tool, user
from tests.protocols import histories as made
from tests.protocols import test_anthropic, test_bedrock, test_chat, test_gemini, test_responses

PAIRS = [
    pair
    for module in (test_anthropic, test_chat, test_responses, test_gemini, test_bedrock)
    for pair in module.PAIRS
    if not pair.warns
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.target.protocol}-{pair.id}")
def test_every_refusal_that_suture_predicts_is_recognised_when_pasted(pair: made.Pair) -> None:
    predicted = next(one for one in made.verdict(pair.breaks, pair.target).violations if one.rule == pair.rule)
    readings = locate(predicted.error)
    if pair.rule == "B12":
        assert any(set(reading.faults) & set(predicted.faults) for reading in readings)
    else:
        assert pair.rule in readings[0].rules, [reading.rules for reading in readings]
    assert set(predicted.faults) & set(readings[0].faults) or not predicted.faults


TEXTS = [
    # docs/contract/rules.md#2, verbatim
    (
        "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_X. Each",
        "orphan-tool-use",
    ),
    ("Expected toolResult blocks at messages.6.content for the following Ids: tooluse_X", "orphan-tool-use"),
    (
        (
            "The following tool_call_ids did not have response messages: call_X; An assistant message with 'tool_calls'"
            " must be followed by tool messages responding to each 'tool_call_id'"
        ),
        "orphan-tool-use",
    ),
    ("No tool output found for function call call_X.", "orphan-tool-use"),
    ("AI_MissingToolResultsError: Tool result is missing for tool call toolu_X.", "orphan-tool-use"),
    ("API Error: 400 due to tool use concurrency issues.", "orphan-tool-use"),
    (
        (
            "Please ensure that the number of function response parts is equal to the number of function call parts of"
            " the function call turn."
        ),
        "orphan-tool-use",
    ),
    (
        "messages.258.content.1.image.source.base64: image exceeds 5 MB maximum: 5895160 bytes > 5242880 bytes",
        "media-rejected",
    ),
    (
        "At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
        "media-rejected",
    ),
    (
        "The image data you provided does not represent a valid image. Please check your input",
        "media-rejected",
    ),
    (
        (
            "invalid image data at input[34].output[1]: the `image/png` payload could not be decoded (it may be corrupt"
            " or truncated)."
        ),
        "media-rejected",
    ),
    ("OpenAI Responses media must contain valid base64", "media-rejected"),
    (
        "Invalid file data: 'x'. Expected a base64-encoded data URL with an application/pdf MIME type",
        "media-rejected",
    ),
    ("request contains 52 images, exceeding the maximum of 50 allowed per request", "media-rejected"),
    ("'media type: application/zip' functionality not supported.", "media-rejected"),
    ("URL scheme must be http, https, or data, got file:", "media-rejected"),
    ("messages: text content blocks must be non-empty", "empty-content"),
    ("The content field in the Message object at messages.4 is empty.", "empty-content"),
    (
        "There is nothing available to cache. Please remove the invalid cache point and try again.",
        "empty-content",
    ),
    ("Invalid request: the message at position 29 with role 'assistant' must not be empty", "empty-content"),
    ("Invalid assistant message: content or tool_calls must be set", "empty-content"),
    ("messages.625: all messages must have non-empty content", "empty-content"),
    (
        "Invalid 'messages[7].tool_calls': empty array. Expected an array with minimum length 1",
        "empty-content",
    ),
    ("text cannot be empty", "empty-content"),
    (
        (
            "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be"
            " modified."
        ),
        "thinking-altered",
    ),
    ("messages.3.content.0: Invalid `signature` in `thinking` block", "thinking-unsigned"),
    (
        (
            "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different"
            " conversation. Remove the block"
        ),
        "thinking-stale",
    ),
    (
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 13",
        "reasoning-field-missing",
    ),
    (
        (
            "Missing `reasoning_content` field in the assistant message at message index 2. For more information,"
            " please refer to"
        ),
        "reasoning-field-missing",
    ),
    (
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "reasoning-field-missing",
    ),
    (
        (
            "The encrypted content gAAAabc could not be verified. Reason: Encrypted content could not be decrypted or"
            " parsed."
        ),
        "encrypted-reasoning-foreign",
    ),
    ("reasoning `encrypted_content` was not issued to this caller", "encrypted-reasoning-foreign"),
    ("prompt is too long: 225981 tokens > 200000 maximum", "context-overflow"),
    (
        "Session too large to compact - context exceeds model limit even after stripping media",
        "compaction-loop",
    ),
    (
        (
            "Invalid 'input[308].arguments': string too long. Expected a string with maximum length 1048576, but got a"
            " string with length 1686845 instead."
        ),
        "huge-output",
    ),
    ("Duplicate value for 'tool_call_id'", "duplicate-call-id-in-message"),
    (
        "each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_X",
        "duplicate-call-id-in-message",
    ),
    (
        "Duplicate item found with id fc_X. Remove duplicate items from your input",
        "duplicate-call-id-across-turns",
    ),
    (
        (
            "Duplicate function_call_output for call_id 'terminal:0'. Each function_call must have exactly one matching"
            " function_call_output"
        ),
        "duplicate-call-id-across-turns",
    ),
    ("duplicate_tool_result_in_request", "duplicate-call-id-in-message"),
    (
        'Duplicate provider tool call id "run_shell_command:0" was already handled',
        "duplicate-call-id-across-turns",
    ),
    (
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        "assistant-tail",
    ),
    (
        "Item 'rs_X' of type 'reasoning' was provided without its required following item.",
        "reasoning-item-unpaired",
    ),
    (
        "Item 'msg_X' of type 'hidden_message' was provided without its required 'reasoning' item",
        "reasoning-item-unpaired",
    ),
    (
        "Item with id 'rs_X' not found. Items are not persisted when `store` is set to false.",
        "item-reference-missing",
    ),
    (
        "The request body is not valid JSON: no low surrogate in string: line 1 column 9 (char 8)",
        "invalid-unicode",
    ),
    (
        (
            "Invalid 'input[67].name': string does not match pattern. Expected a string that matches the pattern"
            " '^[a-zA-Z0-9_-]+$'."
        ),
        "tool-name-invalid",
    ),
    ("messages.9.content.2.tool_use.name: String should have at most 200 characters", "tool-name-invalid"),
    ("messages.61.content.0.tool_use.input: Input should be a valid dictionary", "tool-input-malformed"),
    ("Tool call id was call_X but must be a-z, A-Z, 0-9, with a length of 9.", "call-id-charset"),
    (
        "Invalid 'input[3].content[1].image_url': string too long. Expected a string with maximum length 20971520",
        "media-rejected",
    ),
    ("Missing required parameter: 'input[22].summary'.", "history-shape-foreign"),
    ("Missing required parameter: 'input[22].arguments'.", "tool-input-malformed"),
    ("Missing required parameter: 'input[22].encrypted_content'.", "item-reference-missing"),
    (
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_X. Each",
        "orphan-tool-result",
    ),
    (
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        "orphan-tool-result",
    ),
    ("No tool call found for function call output with call_id call_X.", "orphan-tool-result"),
    (
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        "orphan-tool-result",
    ),
    (
        (
            "Function call is missing a thought_signature in functionCall parts. Additional data, function call"
            " `default_api:x`, position 2."
        ),
        "thought-signature-missing",
    ),
    ("Unable to submit request because Thought signature is not valid", "thought-signature-missing"),
    ("A conversation must alternate between user and assistant roles. Make sure", "role-order"),
    ("Conversation roles must alternate user/assistant/user/assistant/...", "role-order"),
    ('messages: first message must use the "user" role', "role-order"),
    ("History must start with a user turn.", "role-order"),
    (
        'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
        "role-order",
    ),
    ("source tool `srvtoolu_X` not found for tool use block `toolu_Y`", "history-shape-foreign"),
    ("Invalid 'input[x].content': array too long", "history-shape-foreign"),
    ("HTTP 403: Request blocked: prompt injection patterns detected", "content-policy-text"),
    ('Missing key at [0]["info"]["agent"]', "undecodable-row"),
    ("Expected OutputFormatJsonSchema, got {}", "undecodable-row"),
    ("Session not found: ses_1", "undecodable-row"),
    ("Invalid prompt: The messages do not match the ModelMessage[] schema.", "undecodable-row"),
    ("NotFoundError: Message not found: msg_X", "dangling-parent"),
    ("database disk image is malformed", "sqlite-corrupt"),
    ("SQLITE_CORRUPT", "sqlite-corrupt"),
    ("SyntaxError: Unexpected end of JSON input", "corrupt-json"),
    ("JSON Parse error: Unexpected EOF", "corrupt-json"),
    ("FOREIGN KEY constraint failed", "orphan-row"),
]


@pytest.mark.parametrize(("error", "fault"), TEXTS, ids=[error[:40] for error, _ in TEXTS])
def test_every_text_of_the_catalogue_is_read_as_its_fault(error: str, fault: str) -> None:
    first = locate(error)[0]
    assert fault in first.faults
    assert first.means


POSITIONS: list[tuple[str, tuple[str | int, ...]]] = [
    ("messages.209.content.0.type: Expected `thinking`", ("messages", 209, "content", 0)),
    ("messages.5: all messages must have non-empty content", ("messages", 5)),
    (
        "messages.2.content.0.tool_result.content.1.image.source.base64: image exceeds 5 MB maximum",
        ("messages", 2, "content", 0, "content", 1),
    ),
    ("Duplicate value for 'tool_call_id' of x in message[12]", ("messages", 12)),
    (
        "must be a response to a preceeding message with 'tool_calls'. param messages.[6].role",
        ("messages", 6),
    ),
    ("Invalid 'messages[2].tool_calls[1].id': string too long", ("messages", 2, "tool_calls", 1)),
    ("the message at position 29 with role 'assistant' must not be empty", ("messages", 29)),
    ("reasoning_content is missing in assistant tool call message at index 13", ("messages", 13)),
    ("Missing `reasoning_content` field in the assistant message at message index 2.", ("messages", 2)),
    (
        (
            "'messages.8' : for 'role:assistant' the following must be satisfied[('messages.8' : property"
            " 'reasoning_content' is unsupported)]"
        ),
        ("messages", 8),
    ),
    ("Extra inputs are not permitted, field: 'messages[8].reasoning'", ("messages", 8)),
    (
        (
            "[ApiIdParam] [input[371].id] [invalid_id_prefix] Invalid 'input[371].id': 'X'. Expected an ID that begins"
            " with 'msg'."
        ),
        ("input", 371),
    ),
    ("invalid image data at input[34].output[1]: payload could not be decoded", ("input", 34, "output", 1)),
    (
        (
            "* GenerateContentRequest.contents[0].parts[1].data: required oneof field 'data' must have one initialized"
            " field"
        ),
        ("contents", 0, "parts", 1),
    ),
    (
        "missing a thought_signature. Additional data, function call `default_api:bash` , position 2.",
        ("contents", 1),
    ),
    ("Expected toolResult blocks at messages.2.content for the following Ids: t", ("messages", 2)),
    (
        (
            "Value 'a/b' at 'messages.2.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: Member"
            " must"
        ),
        ("messages", 1, "content", 0),
    ),
]


@pytest.mark.parametrize(("error", "pointer"), POSITIONS)
def test_every_way_to_write_a_position_is_read(error: str, pointer: tuple[str | int, ...]) -> None:
    assert locate(error)[0].pointer == pointer


IDS = [
    ("blocks immediately after: toolu_1, functions.bash:0. Each `tool_use`", {"toolu_1", "functions.bash:0"}),
    ("did not have response messages: call_1, terminal:0 (message[2])", {"call_1", "terminal:0"}),
    ("Duplicate value for 'tool_call_id' of terminal:0 in message[2]", {"terminal:0"}),
    ("No tool output found for function call call_abc.", {"call_abc"}),
    ("Duplicate function_call_output for call_id 'terminal:0'.", {"terminal:0"}),
    ("Item 'rs_0a' of type 'reasoning' was provided without its required following item.", {"rs_0a"}),
]


@pytest.mark.parametrize(("error", "names"), IDS)
def test_ids_are_read_whatever_they_look_like(error: str, names: set[str]) -> None:
    assert names <= set(locate(error)[0].ids)


REFUSAL = "Duplicate value for 'tool_call_id' of functions.bash:0 in message[2]"


def wrapped(depth: int) -> str:
    value: Any = {"error": {"message": REFUSAL, "type": "invalid_request_error", "code": None}}
    for _ in range(depth):
        value = {"error": {"message": f"litellm.BadRequestError: {json.dumps(value)}"}}
    return json.dumps(value)


@pytest.mark.parametrize("depth", range(4))
def test_gateways_may_wrap_the_error_in_json_and_logs_around_it(depth: int) -> None:
    log = (
        f"INFO  2026-10-01 service=llm request\nERROR 2026-10-01 service=llm error={wrapped(depth)} stack=at fetch"
        " (x.ts:1)\nINFO done"
    )
    first = locate(log)[0]
    assert (first.rules, first.position) == (("O18",), "message[2]")
    assert first.ids == ("functions.bash:0",)


def test_a_text_that_says_nothing_gives_nothing_and_an_unknown_one_that_points_still_points() -> None:
    assert locate("") == []
    assert locate("socket hang up") == []
    assert locate("something odd at messages.3.content.1")[0].pointer == ("messages", 3, "content", 1)


def test_hostile_text_is_read_in_bounded_time() -> None:
    for nasty in (
        '{"a":' * 30_000,
        "\\" * 60_000,
        '{"' * 30_000,
        "messages." * 7_000,
        "immediately after: " + "a, " * 20_000,
    ):
        locate(nasty)


DUPLICATE = session(
    user(text("q")),
    assistant(START, tool("functions.bash:0"), tool("functions.bash:0", "error", tool="unknown"), FINISH),
)


def test_with_a_session_the_error_leads_to_the_stored_part() -> None:
    found = locate(REFUSAL, DUPLICATE, make_target("acme", "m-1"))
    assert [(one.message, one.part, one.by) for one in found] == [("m1", "m1p2", "violation")]


def test_the_protocol_of_the_text_decides_how_the_session_is_lowered() -> None:
    found = locate("messages.1.content.1: `tool_use` ids must be unique", DUPLICATE, make_target("acme", "m-1"))
    assert [(one.protocol, one.part, one.by) for one in found] == [("anthropic-messages", "m1p2", "violation")]


def test_a_position_alone_leads_through_the_provenance() -> None:
    error = (
        "messages.1.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be"
        " modified."
    )
    found = locate(
        error,
        session(user(text("q")), assistant(text("a"), text("b"))),
        parse_target("anthropic-messages:acme/claude-1"),
    )
    assert [(one.message, one.part, one.by) for one in found] == [("m1", "m1p1", "position")]


def test_an_id_alone_leads_to_the_call() -> None:
    rows = session(user(text("q")), assistant(START, tool("call_a"), FINISH))
    found = locate("No tool output found for function call call_a.", rows, make_target("acme", "m-1"))
    assert [(one.message, one.part, one.by) for one in found] == [("m1", "m1p1", "id")]
    assert locate("No tool output found for function call call_zz.", rows)[0].by == ""


def test_a_deleted_parent_leads_to_the_answer_that_names_it() -> None:
    rows = session(user(text("q")), assistant(text("a"), parentID="msg_0002"))
    assert [one.message for one in locate("NotFoundError: Message not found: msg_0002", rows)] == ["m1"]


def test_a_json_path_of_the_client_counts_its_own_messages() -> None:
    rows = session(user(text("q")), assistant(text("a")))
    assert locate('Missing key at [1]["info"]["agent"]', rows)[0].message == "m1"
    assert locate('Missing key at [0]["info"]["agent"]', rows)[0].message == "m1"  # m0 has one: a page of the history
    assert locate('Expected string, got null at [1]["parts"][0]["text"]', rows)[0].part == "m1p0"


def test_it_can_be_told_which_sessions_would_raise_an_error() -> None:
    reading = locate(REFUSAL)[0]
    called = make_target("acme", "m-1")
    assert raised_by(reading, verdict(DUPLICATE, called))
    assert not raised_by(reading, verdict(session(user(text("q"))), called))


def test_an_error_cut_short_behind_its_position_is_still_known() -> None:
    found = locate("messages.209.content.0.type: Expected ...")[0]

    assert found.rules == ("A21",)
    assert found.faults[0] == "thinking-not-first"
    assert found.position == "messages.209.content.0"


def test_two_rules_in_the_same_words_are_both_read_with_the_faults_of_both() -> None:
    first, *more = locate("Requests ending with a model turn are not supported.")

    assert (first.rules, more) == (("G8", "G9"), [])
    assert first.faults == ("assistant-tail", "history-shape-foreign", "media-rejected")


def test_an_id_is_found_in_each_form_that_the_client_sends_it_in() -> None:
    rows = session(user(text("q")), assistant(START, tool("functions.bash:0"), FINISH))
    for sent in ("functions.bash:0", "functions_bash_0", "functions"):
        found = locate(f"Duplicate tool call id {sent} in tool results", rows, make_target("acme", "m-1"))
        assert [one.part for one in found] == ["m1p1"], sent
