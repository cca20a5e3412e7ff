"""The rules of OpenAI Chat Completions and of its strict compatible servers (docs/contract/wire.md#2b, #2c)."""

from __future__ import annotations

from sessions_app.domain.protocols.anthropic_messages.table import NO_PREFILL
from sessions_app.domain.protocols.gemini.table import UNSIGNED_CALL
from sessions_app.domain.protocols.table import (
    ARRAY_TOO_LONG,
    CALLS,
    CHARSET,
    EMPTY,
    FIELD,
    FOREIGN,
    INPUT,
    MEDIA,
    NAME,
    NAME_PATTERN,
    NO_CALL,
    NO_RESULT,
    ORDER,
    PAIRING,
    RESULTS,
    SAME_ID,
    SCHEMA,
    SEMANTIC,
    SETTING,
    STRING_TOO_LONG,
    TAIL,
    TWICE,
    by_code,
    half_characters,
    only_read,
    rule,
    says,
    unchecked,
    vendor_only,
)

_DASHSCOPE = "<400> InternalError.Algo.InvalidParameter: "
_MUST = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
_WITHOUT_RESULT = _MUST + "The following tool_call_ids did not have response messages: {ids}"

UNANSWERED = says(
    r"must be followed by tool messages responding to each",
    CALLS,
    NO_RESULT,
    _WITHOUT_RESULT,
    measured=_WITHOUT_RESULT + " ({position})",
)
NINE_CHARACTERS = says(
    r"tool call id was .* but must be a-z",
    "call-id-charset",
    CHARSET,
    "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.",
)
_UNEXPECTED_ROLE = says(
    r"unexpected role \w+ after role \w+", "role-order", ORDER, "Unexpected role '{role}' after role '{before}'"
)

_SERVERS = (
    rule(
        "S22",
        "P",
        "reported",
        PAIRING,
        says(
            r"internalerror\.algo\.invalidparameter: an assistant message with tool_calls must be followed",
            CALLS,
            NO_RESULT,
            _DASHSCOPE + _WITHOUT_RESULT,
        ),
        says(
            r"function\.arguments parameter of the code model must be",
            "tool-input-malformed",
            INPUT,
            arguments=_DASHSCOPE + 'The "function.arguments" parameter of the code model must be in JSON format.',
        ),
        note="O1 in other words, and arguments that are no JSON.",
    ),
    rule(
        "S3",
        "P",
        "reported",
        PAIRING,
        says(
            r"insufficient tool messages following tool_calls",
            CALLS,
            NO_RESULT,
            _MUST + "(insufficient tool messages following tool_calls message)",
        ),
        only_read(UNANSWERED),
        note="O1 in other words.",
    ),
    rule(
        "S1",
        "P",
        "documented",
        SEMANTIC,
        says(
            r"reasoning_content in the thinking mode must be passed back|missing reasoning_content field",
            "reasoning-field-missing",
            FIELD,
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
        ),
    ),
    rule(
        "S5",
        "P",
        "reported",
        SEMANTIC,
        says(
            r"reasoning_content is missing in assistant tool call message",
            "reasoning-field-missing",
            FIELD,
            "thinking is enabled but reasoning_content is missing in assistant tool call {position}",
        ),
    ),
    rule(
        "S2",
        "P",
        "uncertain",
        SEMANTIC,
        says(
            r"reasoning_content of earlier turns must not be sent",
            "reasoning-field-missing",
            "An older server refuses reasoning of earlier turns.",
            "reasoning_content of earlier turns must not be sent (older deepseek-reasoner)",
        ),
        note="A warning (C).",
    ),
    rule(
        "S4",
        "P",
        "uncertain",
        SEMANTIC,
        says(
            "",
            "empty-content",
            "An empty text stands beside tool calls where null is wanted.",
            "content must be null, not an empty string, beside tool_calls",
        ),
        note="A warning (C).",
    ),
    rule(
        "S18",
        "P",
        "reported",
        SCHEMA,
        says(
            r"property reasoning_content is unsupported",
            "history-shape-foreign",
            "A message carries a reasoning field that this server does not know.",
            "'{position}' : for 'role:assistant' the following must be satisfied[('{position}' : property"
            " 'reasoning_content' is unsupported)]",
        ),
    ),
    rule(
        "S19",
        "P",
        "reported",
        SCHEMA,
        says(
            r"extra inputs are not permitted, field:? (messages|input|contents)\b",
            "history-shape-foreign",
            "A message carries a field that this server does not know.",
            "Extra inputs are not permitted, field: '{position}'",
        ),
    ),
    rule(
        "S6",
        "P",
        "reported",
        PAIRING,
        says(r"tool_call_id (\S+ )?is not found", RESULTS, NO_CALL, "tool_call_id  is not found"),
        note="O3 in other words.",
    ),
    rule(
        "S7",
        "P",
        "reported",
        SEMANTIC,
        says(
            r"with role assistant must not be empty",
            "empty-content thinking-only-message",
            EMPTY,
            "Invalid request: the {position} with role 'assistant' must not be empty",
        ),
        note="A warning for servers of unknown make.",
    ),
    rule("S9", "P", "documented", SCHEMA, NINE_CHARACTERS),
    rule(
        "S10",
        "P",
        "uncertain",
        SEMANTIC,
        _UNEXPECTED_ROLE,
        note="A warning: the newest validator allows it.",
    ),
    rule("S17", "P", "documented", SEMANTIC, _UNEXPECTED_ROLE),
    rule(
        "S11",
        "P",
        "documented",
        PAIRING,
        says(
            r"not the same number of function calls and responses",
            f"{CALLS} orphan-tool-result",
            NO_RESULT,
            "Not the same number of function calls and responses",
        ),
    ),
    rule(
        "S12",
        "P",
        "documented",
        PAIRING,
        says(
            r"duplicate tool call id",
            "duplicate-call-id-in-message call-id-charset",
            SAME_ID,
            call="Duplicate tool call id {id} in assistant message",
            result="Duplicate tool call id {id} in tool results",
        ),
        says(
            r"unexpected tool call id .* in tool results",
            RESULTS,
            NO_CALL,
            unknown="Unexpected tool call id {id} in tool results",
        ),
    ),
    rule(
        "S13",
        "T",
        "documented",
        SEMANTIC,
        says(
            r"expected last role user or tool",
            "assistant-tail",
            TAIL,
            "Expected last role User or Tool (or Assistant with prefix or continue_final_message set to True) for"
            " serving but got {role}",
        ),
        says(
            "",
            "assistant-tail",
            TAIL,
            perhaps="the last message is an assistant message, which some servers refuse or read as a prefill",
        ),
        note="A warning for servers of unknown make.",
    ),
    rule(
        "S14",
        "P",
        "documented",
        SEMANTIC,
        says(
            r"must have either content or tool_calls",
            "empty-content thinking-only-message",
            EMPTY,
            "Assistant message must have either content or tool_calls, but not both.",
        ),
        note='"Not both" was a rule of old tokenizers and is not checked.',
    ),
    rule(
        "S15",
        "P",
        "documented",
        SEMANTIC,
        says(
            r"must start with a user message or system message|must have at least one message|prefix true must be last",
            "role-order",
            ORDER,
            "Conversation must start with a user message or system message",
            none="Conversation must have at least one message",
            prefix="Assistant message with prefix True must be last message",
        ),
    ),
    rule(
        "S16",
        "P",
        "documented",
        SCHEMA,
        says(
            r"function name was .* but must be a-z",
            "tool-name-invalid",
            NAME,
            "Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum"
            " length of 64.",
        ),
        says(
            r"function call arguments must be valid json",
            "tool-input-malformed",
            INPUT,
            arguments="Function call arguments must be valid JSON",
        ),
    ),
    unchecked("S20", "The profile azure: every rule of OpenAI, in its words."),
    rule(
        "S21",
        "P",
        "uncertain",
        SEMANTIC,
        says(
            r"conversation roles must alternate|system message must be at the beginning",
            "role-order",
            ORDER,
            "Conversation roles must alternate user/assistant/user/assistant/...",
            system="System message must be at the beginning.",
        ),
        says(
            "",
            "tool-input-malformed",
            INPUT,
            arguments="tool call arguments are not valid JSON: the chat template cannot be applied",
        ),
        note="Warnings: which models have which template rule is not known.",
    ),
    rule("S23", "P", "documented", SEMANTIC, UNSIGNED_CALL),
    rule(
        "S24",
        "T",
        "reported",
        SEMANTIC,
        NO_PREFILL,
        note="That tools are sent beside tool history is not checked: the client adds them itself.",
    ),
)
"""Words of one server are read before OpenAI's own, which they may contain."""

_OWN = (
    rule("O1", "P", "measured", PAIRING, UNANSWERED),
    rule("S8", "P", "reported", PAIRING, UNANSWERED, note="O1 in the same words."),
    rule(
        "O2",
        "P",
        "reported",
        PAIRING,
        says(
            r"must be a response to a prece+ding message with",
            RESULTS,
            NO_CALL,
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with"
            " 'tool_calls'.",
        ),
    ),
    rule(
        "O3",
        "P",
        "reported",
        PAIRING,
        says(
            r"not found in tool_calls of previous message",
            RESULTS,
            NO_CALL,
            "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message.",
        ),
    ),
    rule(
        "O4",
        "P",
        "measured",
        SCHEMA,
        says(
            r"tool_calls: empty array",
            "empty-content",
            "An assistant message carries an empty list of tool calls.",
            "Invalid '{position}': empty array. Expected an array with minimum length 1, but got an empty array"
            " instead.",
        ),
    ),
    rule(
        "O5",
        "P",
        "measured",
        SEMANTIC,
        says(
            r"invalid value for content: expected a string, got null|content or tool_calls must be set",
            "empty-content thinking-only-message",
            EMPTY,
            "Invalid value for 'content': expected a string, got null.",
            deepseek="Invalid assistant message: content or tool_calls must be set",
        ),
        vendor_only=True,
        note="In DeepSeek's own words there.",
    ),
    rule(
        "O6",
        "P",
        "measured",
        SEMANTIC,
        says(
            r"missing required parameter: messages\[\d+\]\.content",
            "empty-content",
            EMPTY,
            "Missing required parameter: '{position}'.",
        ),
        vendor_only=True,
    ),
    rule(
        "O7",
        "P",
        "measured",
        SCHEMA,
        says(
            r"supported values are: system, assistant, user",
            "history-shape-foreign",
            FOREIGN,
            "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and"
            " 'developer'.",
        ),
        vendor_only=True,
    ),
    rule(
        "O8",
        "P",
        "measured",
        SCHEMA,
        says(
            r"invalid messages: empty array",
            "empty-message",
            "The history lowers to no message at all.",
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        ),
    ),
    rule(
        "O9",
        "P",
        "reported",
        SCHEMA,
        says(
            r"(tool_calls\[\d+\]\.id|tool_call_id): string too long",
            "call-id-charset",
            CHARSET,
            STRING_TOO_LONG,
        ),
        vendor_only=True,
        note="41 to 64 characters are a warning away from OpenAI.",
    ),
    rule(
        "O10",
        "P",
        "reported",
        SCHEMA,
        says(
            r"messages\[\d+\]\.(\S+\.)?(function\.)?name: (string (does not match|too long)|empty string)",
            "tool-name-invalid invalid-unicode",
            NAME,
            NAME_PATTERN,
            long=STRING_TOO_LONG,
        ),
        vendor_only=True,
    ),
    rule(
        "O11",
        "R",
        "reported",
        SCHEMA,
        says(
            r"invalid (tools|messages\[\d+\]\.tool_calls): array too long",
            "",
            "More tools or calls than the API takes.",
            ARRAY_TOO_LONG,
        ),
        vendor_only=True,
    ),
    rule(
        "O12",
        "P",
        "documented",
        SCHEMA,
        says(
            r"image urls are only allowed for messages with role user",
            "media-rejected",
            MEDIA,
            "Invalid '{position}'. Image URLs are only allowed for messages with role 'user', but this message with"
            " role '{role}' contains an image URL.",
        ),
        vendor_only=True,
    ),
    rule(
        "O13",
        "P",
        "documented",
        SCHEMA,
        says(
            r"messages\[\d+\]\.tool_calls\[\d+\]\.function\.arguments(: expected a string|\.)",
            "tool-input-malformed",
            INPUT,
            "Invalid type for '{position}': expected a string, but got {kind} instead.",
            absent="Missing required parameter: '{position}'.",
        ),
        vendor_only=True,
    ),
    rule(
        "O14",
        "R",
        "measured",
        SCHEMA,
        says(r"unknown parameter:", "", SETTING, "Unknown parameter: '{position}'."),
        vendor_only=True,
    ),
    rule(
        "O15",
        "R",
        "documented",
        SCHEMA,
        says(
            r"unsupported (parameter: (max_tokens|stop)|value: temperature)",
            "",
            SETTING,
            "Unsupported parameter: '{position}' is not supported with this model.",
            max_tokens="Unsupported parameter: 'max_tokens' is not supported with this model. Use"
            " 'max_completion_tokens' instead.",
            temperature="Unsupported value: 'temperature' does not support {value} with this model. Only the default"
            " (1) value is supported.",
        ),
        vendor_only=True,
    ),
    unchecked(
        "O16",
        "Not checkable offline: the count of patches is the server's own arithmetic.",
        says(r"patches after processing, exceeding the limit", "media-rejected", MEDIA, speaks=""),
    ),
    unchecked("O17", "No rule: what OpenAI was measured to take, which nothing may flag."),
    rule(
        "O18",
        "P",
        "measured",
        PAIRING,
        says(
            r"duplicate value for tool_call_id|duplicate_tool_result_in_request",
            f"{TWICE} call-id-charset",
            SAME_ID,
            "Duplicate value for 'tool_call_id' of {id} in {position}",
        ),
        says(
            "",
            "duplicate-call-id-across-turns call-id-charset",
            SAME_ID,
            again="{position}: tool_call id {id} already used in message[{earlier}] (accepted by OpenAI across"
            " messages)",
        ),
        note="Across messages: refused by profiles that look at the whole request, else a warning.",
    ),
    half_characters(vendor_only=True),
)

TABLE = by_code(*_SERVERS, *_OWN)

NOT_PROBED = vendor_only(TABLE)
"""What the corpus' strict provider let pass in recordings, or no probe of a compatible server has shown."""
