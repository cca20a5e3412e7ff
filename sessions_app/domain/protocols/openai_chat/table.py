"""The rules of OpenAI Chat Completions and of its strict compatible servers (docs/contract/wire.md#2b, #2c)."""

from __future__ import annotations

from sessions_app.domain.protocols.table import (
    ARRAY_TOO_LONG,
    CHARSET,
    EMPTY,
    FOREIGN,
    INPUT,
    MEDIA,
    NAME,
    NAME_PATTERN,
    NO_CALL,
    PAIRING,
    RESULTS,
    SAME_ID,
    SCHEMA,
    SEMANTIC,
    SETTING,
    STRING_TOO_LONG,
    TWICE,
    by_code,
    half_characters,
    rule,
    says,
    unchecked,
    vendor_only,
)

from .servertable import SERVER_RULES, UNANSWERED

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

TABLE = by_code(*SERVER_RULES, *_OWN)

NOT_PROBED = vendor_only(TABLE)
"""What the corpus' strict provider let pass in recordings, or no probe of a compatible server has shown."""
