"""The rules of the Anthropic Messages API (docs/contract/wire.md#1b)."""

from __future__ import annotations

from sessions_app.domain.protocols.table import (
    CALLS,
    CHARSET,
    EMPTY,
    FOREIGN,
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
    SETTING,
    TAIL,
    TWICE,
    by_code,
    half_characters,
    rule,
    says,
    unchecked,
    vendor_only,
)

from .mediatable import MEDIA_RULES
from .thinkingtable import THINKING_RULES

EMPTY_TEXT = says(
    r"text content blocks must be non-empty",
    "empty-content",
    EMPTY,
    "messages: text content blocks must be non-empty",
)
BLANK_TEXT = says(
    r"must contain non-whitespace text",
    "empty-content",
    EMPTY,
    "messages: text content blocks must contain non-whitespace text",
    system="system: text content blocks must contain non-whitespace text",
)
MANY_MARKS = says(
    r"maximum of \d+ blocks with cache_control",
    "",
    SETTING,
    "A maximum of 4 blocks with cache_control may be provided. Found {count}.",
)
NO_PREFILL = says(
    r"does not support assistant message prefill",
    "assistant-tail",
    TAIL,
    "This model does not support assistant message prefill. The conversation must end with a user message.",
    speaks="",
)

_CALLS_AND_RESULTS = (
    rule(
        "A1",
        "P",
        "measured",
        PAIRING,
        says(
            r"found without tool_result blocks immediately after",
            CALLS,
            NO_RESULT,
            "{position}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each"
            " `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ),
        says(r"due to tool use concurrency issues", CALLS, NO_RESULT),
        says(
            "",
            "step-boundary-lost",
            "Text or thinking stands behind a tool call in one message.",
            behind="{position}: a {kind} block stands behind `tool_use` in one assistant message, which was reported to"
            " bring: `tool_use` ids were found without `tool_result` blocks immediately after",
        ),
        note="Text or thinking behind a call is a warning.",
    ),
    rule(
        "A2",
        "P",
        "measured",
        PAIRING,
        says(
            r"unexpected tool_use_id found in tool_result",
            RESULTS,
            NO_CALL,
            "{position}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must"
            " have a corresponding `tool_use` block in the previous message.",
        ),
    ),
    rule(
        "A2s",
        "P",
        "reported",
        PAIRING,
        says(
            r"unexpected tool_use_id found in \w+_tool_result",
            "orphan-tool-result history-shape-foreign",
            NO_CALL,
            "{position}: unexpected `tool_use_id` found in `{kind}` blocks: {id}. Each `{kind}` block must have a"
            " corresponding `{use}` block before it.",
        ),
    ),
    rule(
        "A3",
        "P",
        "measured",
        PAIRING,
        says(
            r"tool_use ids must be unique",
            f"{TWICE} call-id-charset",
            SAME_ID,
            "{position}: `tool_use` ids must be unique",
        ),
        note="Told before A4, [as recorded](contract/wire.md#c8).",
    ),
    rule(
        "A4",
        "P",
        "reported",
        PAIRING,
        says(
            r"must have a single result|found multiple tool_result blocks",
            TWICE,
            SAME_ID,
            "{position}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}",
        ),
    ),
    rule(
        "A5",
        "P",
        "measured",
        SCHEMA,
        says(
            r"tool_use(_id|\.id): string should match",
            "call-id-charset",
            CHARSET,
            "{position}: String should match pattern '^[a-zA-Z0-9_-]+$'",
        ),
    ),
    rule(
        "A7",
        "P",
        "reported",
        SCHEMA,
        says(
            r"tool_use\.name: string should|custom\.name: string should|tool names must be unique|should have at most"
            r" 200 characters",
            "tool-name-invalid",
            NAME,
            "{position}: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'",
            long="{position}: String should have at most 200 characters",
            twice="tools: Tool names must be unique.",
        ),
        vendor_only=True,
        note="Definitions only where the body carries tools.",
    ),
    rule(
        "A6",
        "P",
        "measured",
        SCHEMA,
        says(
            r"tool_use\.input: |input should be (a valid dictionary|an object)",
            "tool-input-malformed",
            INPUT,
            "{position}: Input should be an object",
            older="{position}: Input should be a valid dictionary",
            absent="{position}: Field required",
        ),
        note='Older servers say "a valid dictionary".',
    ),
)

_CONTENT = (
    rule(
        "A12",
        "P",
        "reported",
        SCHEMA,
        says(
            r"cache_control cannot be set for empty text",
            "empty-content",
            EMPTY,
            "{position}: cache_control cannot be set for empty text blocks",
        ),
        vendor_only=True,
    ),
    rule("A8", "P", "measured", SEMANTIC, EMPTY_TEXT, note="Inside a tool result a warning: never probed."),
    rule(
        "A9",
        "P",
        "measured",
        SEMANTIC,
        BLANK_TEXT,
        vendor_only=True,
        note="A warning beside signed thinking, where the client puts blanks itself.",
    ),
    rule(
        "A10",
        "P",
        "measured",
        SEMANTIC,
        says(
            r"user messages must have non-empty content",
            "empty-content",
            EMPTY,
            "user messages must have non-empty content",
        ),
    ),
    rule(
        "A10o",
        "P",
        "measured",
        SEMANTIC,
        says(
            r"all messages must have non-empty content",
            "empty-content thinking-only-message thinking-unsigned",
            EMPTY,
            "{position}: all messages must have non-empty content except for the optional final assistant message",
        ),
        note="Only for servers of unknown make.",
    ),
    unchecked("A11", "No rule: shapes measured as legal, which nothing may flag."),
    rule(
        "A15",
        "P",
        "documented",
        SCHEMA,
        says(
            r"extra inputs are not permitted",
            "history-shape-foreign",
            FOREIGN,
            "{position}: Extra inputs are not permitted",
            general=True,
        ),
    ),
    rule(
        "A16",
        "T",
        "reported",
        SEMANTIC,
        says(
            r"cannot end with trailing whitespace",
            "empty-content assistant-tail",
            TAIL,
            "messages: final assistant content cannot end with trailing whitespace",
        ),
        vendor_only=True,
        note="Where a prefill is not refused as such.",
    ),
    rule(
        "A17",
        "T",
        "measured",
        SEMANTIC,
        NO_PREFILL,
        vendor_only=True,
        note="By the table of models; unknown models: a warning.",
    ),
    rule(
        "A18",
        "T",
        "measured",
        SEMANTIC,
        says(
            r"final block in an assistant message cannot be thinking",
            "assistant-tail thinking-only-message",
            TAIL,
            "{position}: The final block in an assistant message cannot be `thinking`.",
        ),
        vendor_only=True,
    ),
    rule(
        "A19",
        "P",
        "measured",
        SEMANTIC,
        says(
            r"first message must use the user role|at least one message is required",
            "role-order",
            ORDER,
            'messages: first message must use the "user" role',
            none="messages: at least one message is required",
        ),
    ),
    rule(
        "A20",
        "P",
        "uncertain",
        SEMANTIC,
        says(
            r"roles must alternate between user and assistant",
            "role-order",
            ORDER,
            'messages: roles must alternate between "user" and "assistant", but found multiple "{role}" roles in a row',
        ),
        note="A warning, for servers of unknown make only: not enforced any more.",
    ),
    rule(
        "A22",
        "P",
        "documented",
        SEMANTIC,
        says(
            r"role system is not (supported on this model|allowed at this position)",
            "history-shape-foreign",
            ORDER,
            "role 'system' is not supported on this model",
            place="{position}: role 'system' is not allowed at this position",
        ),
        note="By the table of models.",
    ),
)

_SETTINGS = (
    rule("A13", "R", "documented", SCHEMA, MANY_MARKS),
    rule(
        "A14",
        "R",
        "reported",
        SCHEMA,
        says(
            r"cache_control block must not come after",
            "",
            SETTING,
            "{position}: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that"
            " blocks are processed in the following order: `tools`, `system`, `messages`.",
        ),
    ),
    rule(
        "A30",
        "R",
        "documented",
        SCHEMA,
        says(
            r"(thinking\.type\.\w+|tool_choice|temperature|top_[pk]) is not supported for this model",
            "",
            SETTING,
            "`{position}` is not supported for this model",
            mode='"thinking.type.{mode}" is not supported for this model',
            forced="forced `tool_choice` is not supported for this model",
        ),
        note="Where the body carries these parameters.",
    ),
    half_characters(
        vendor_only=True,
        note="Gemini takes half pairs. The column is left as N: the rest of the request is not stored.",
    ),
    rule(
        "A32",
        "R",
        "reported",
        SCHEMA,
        says(r"all tools have defer_loading", "", SETTING, "All tools have defer_loading set"),
    ),
    rule(
        "A33",
        "R",
        "uncertain",
        SCHEMA,
        says(
            r"tool_choice: (may only be specified|tool .* not found)",
            "",
            SETTING,
            "tool_choice: may only be specified while providing tools",
            unknown="tool_choice: tool '{name}' not found in provided tools",
        ),
        note="A warning (C).",
    ),
)

TABLE = by_code(*_CALLS_AND_RESULTS, *_CONTENT, *THINKING_RULES, *MEDIA_RULES, *_SETTINGS)

OLDER_SOFT = vendor_only(TABLE)
"""What the corpus' strict provider let pass, in recordings, or is not known to have. A10o, which the vendor has given
up (A11), it does enforce."""
