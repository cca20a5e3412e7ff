"""The rules of single servers that speak OpenAI Chat, and the words that they share with the protocol's own."""

from __future__ import annotations

from sessions_app.domain.protocols.anthropic_messages.table import NO_PREFILL
from sessions_app.domain.protocols.gemini.table import UNSIGNED_CALL
from sessions_app.domain.protocols.table import (
    CALLS,
    CHARSET,
    EMPTY,
    FIELD,
    INPUT,
    NAME,
    NO_CALL,
    NO_RESULT,
    ORDER,
    PAIRING,
    RESULTS,
    SAME_ID,
    SCHEMA,
    SEMANTIC,
    TAIL,
    only_read,
    rule,
    says,
    unchecked,
)

DASHSCOPE = "<400> InternalError.Algo.InvalidParameter: "
MUST = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
WITHOUT_RESULT = MUST + "The following tool_call_ids did not have response messages: {ids}"

UNANSWERED = says(
    r"must be followed by tool messages responding to each",
    CALLS,
    NO_RESULT,
    WITHOUT_RESULT,
    measured=WITHOUT_RESULT + " ({position})",
)
NINE_CHARACTERS = says(
    r"tool call id was .* but must be a-z",
    "call-id-charset",
    CHARSET,
    "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.",
)
UNEXPECTED_ROLE = says(
    r"unexpected role \w+ after role \w+", "role-order", ORDER, "Unexpected role '{role}' after role '{before}'"
)

SERVER_RULES = (
    rule(
        "S22",
        "P",
        "reported",
        PAIRING,
        says(
            r"internalerror\.algo\.invalidparameter: an assistant message with tool_calls must be followed",
            CALLS,
            NO_RESULT,
            DASHSCOPE + WITHOUT_RESULT,
        ),
        says(
            r"function\.arguments parameter of the code model must be",
            "tool-input-malformed",
            INPUT,
            arguments=DASHSCOPE + 'The "function.arguments" parameter of the code model must be in JSON format.',
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
            MUST + "(insufficient tool messages following tool_calls message)",
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
        UNEXPECTED_ROLE,
        note="A warning: the newest validator allows it.",
    ),
    rule("S17", "P", "documented", SEMANTIC, UNEXPECTED_ROLE),
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
