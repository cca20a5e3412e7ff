"""The rules of the Anthropic Messages API (docs/contract/wire.md#1b)."""

from __future__ import annotations

from sessions_app.domain.protocols.table import (
    CALLS,
    CHARSET,
    EMPTY,
    FOREIGN,
    INPUT,
    MEDIA,
    NAME,
    NO_CALL,
    NO_RESULT,
    ORDER,
    OVERFLOW,
    PAIRING,
    RESULTS,
    SAME_ID,
    SCHEMA,
    SEMANTIC,
    SETTING,
    SIGNATURE,
    TAIL,
    TWICE,
    by_code,
    half_characters,
    rule,
    says,
    unchecked,
    vendor_only,
)

_MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must"
    " remain as they were in the original response."
)

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

_THINKING = (
    rule(
        "A21",
        "T",
        "measured",
        SIGNATURE,
        says(
            r"expected thinking or redacted_thinking, but found|content\.\d+\.type: expected",
            "thinking-not-first thinking-lost-on-error thinking-unsigned",
            "Thinking is on, and the last assistant turn with tool calls does not start with a thinking block.",
            "{position}: Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, a"
            " final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and"
            " `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this"
            " requirement, disable `thinking`.",
            earlier="{position}: an earlier assistant turn with `tool_use` does not start with thinking (allowed: not"
            " the final turn)",
        ),
        note="Manual thinking, [as recorded](contract/wire.md#c9); adaptive models and earlier turns: a warning.",
    ),
    rule(
        "A21b",
        "T",
        "reported",
        SIGNATURE,
        says(
            r"when thinking is disabled, an assistant message in the final position",
            "thinking-only-message assistant-tail",
            "Thinking is off, and the request ends with an assistant message that holds thinking.",
            "{position}: When thinking is disabled, an `assistant` message in the final position cannot contain"
            " `thinking`. To use thinking blocks, enable `thinking` in your request.",
        ),
    ),
    rule(
        "A21c",
        "R",
        "documented",
        SCHEMA,
        says(
            r"thinking may not be enabled when|temperature may only be set to 1 when thinking|may not be set when"
            r" thinking is enabled",
            "",
            SETTING,
            "{position} may not be set when thinking is enabled",
            forced="Thinking may not be enabled when tool_choice forces tool use.",
            warm="temperature may only be set to 1 when thinking is enabled",
        ),
        note="Where the body carries these parameters.",
    ),
    unchecked(
        "A24",
        "Not checkable offline: the binding lies in the signature, and enforcement depends on the account. Reported as"
        " not checkable for models bound to their prefix.",
        says(
            r"bound to a different conversation",
            "thinking-stale thinking-altered",
            "Something before this thinking block was changed after the model wrote it; the block, and every later one,"
            " is void.",
        ),
    ),
    rule(
        "A23",
        "P",
        "reported",
        SIGNATURE,
        says(
            r"blocks in the latest assistant message cannot be modified|remain as they were in the original response",
            "thinking-altered thinking-unsigned",
            "A thinking block of the latest assistant turn is not what the model wrote, or stands elsewhere.",
        ),
        says(
            "",
            "thinking-altered",
            "A thinking block has no text; this model does not leave the text out itself.",
            "{position}: thinking block with empty text; if it was not empty in the original response: " + _MODIFIED,
        ),
        note="Not checkable offline: what the original response was is not stored. Emptied text is a warning where the"
        " model does not omit it.",
    ),
    rule(
        "A23b",
        "P",
        "reported",
        SIGNATURE,
        says(
            r"invalid signature in thinking|invalid data in redacted_thinking",
            "thinking-unsigned thinking-stale",
            "The signature of a thinking block is missing, foreign or no longer valid.",
            "{position}: Invalid `signature` in `thinking` block",
        ),
        vendor_only=True,
        note="Genuineness is not checkable offline; an empty signature is refused, one that is no base64 is a warning.",
    ),
    rule(
        "A23c",
        "P",
        "documented",
        SCHEMA,
        says(
            r"(thinking\.signature|thinking\.thinking|redacted_thinking\.data): (field required|input should be)",
            "thinking-unsigned thinking-lost-on-error",
            "A thinking block has no signature, mostly because its stream was cut off.",
            "{position}: Field required",
            other="{position}: Input should be a valid string",
        ),
    ),
)

_MEDIA = (
    rule(
        "A25",
        "P",
        "reported",
        SCHEMA,
        says(
            r"all content must be type text if is_error",
            "media-rejected",
            MEDIA,
            "{position}: all content must be type `text` if `is_error` is true",
        ),
    ),
    rule(
        "A26",
        "P",
        "measured",
        SEMANTIC,
        says(
            r"image dimensions exceed",
            "media-rejected",
            MEDIA,
            "{position}: At least one of the image dimensions exceed max allowed size: {edge} pixels",
            many="{position}: At least one of the image dimensions exceed max allowed size for many-image requests:"
            " {edge} pixels",
        ),
        vendor_only=True,
    ),
    rule(
        "A27",
        "P",
        "measured",
        SEMANTIC,
        says(
            r"image exceeds [\d.]+ ?mb",
            "media-rejected",
            MEDIA,
            "{position}: image exceeds {megabytes} MB maximum: {size} bytes > {limit} bytes",
        ),
        vendor_only=True,
        note="5 MB on Bedrock, Vertex and servers of unknown make.",
    ),
    rule(
        "A28",
        "P",
        "reported",
        SEMANTIC,
        says(
            r"media type, but the image appears to be|could not process image"
            r"|source\.base64\.media_type: Input should be",
            "media-rejected",
            MEDIA,
            "Could not process image",
            label="{position}.image.source.base64.data: The image was specified using the {declared} media type, but"
            " the image appears to be a {real} image",
            type="{position}: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
        ),
        vendor_only=True,
        note="From the first bytes; that all of an image decodes is not checked.",
    ),
    rule(
        "A29",
        "R",
        "documented",
        SCHEMA,
        says(
            r"request_too_large",
            "media-rejected huge-output context-overflow",
            OVERFLOW,
            "request_too_large: Request exceeds the maximum size",
        ),
        says(
            r"\d+ images, exceeding the maximum|too many images",
            "media-rejected",
            MEDIA,
            images="messages: too many images: {count} > {limit}",
            speaks="",
        ),
        vendor_only=True,
        note="Pages of PDFs are not counted: that needs a PDF reader.",
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

TABLE = by_code(*_CALLS_AND_RESULTS, *_CONTENT, *_THINKING, *_MEDIA, *_SETTINGS)

OLDER_SOFT = vendor_only(TABLE)
"""What the corpus' strict provider let pass, in recordings, or is not known to have. A10o, which the vendor has given
up (A11), it does enforce."""
