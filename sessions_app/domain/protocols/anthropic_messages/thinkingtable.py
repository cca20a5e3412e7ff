"""The rules about thinking blocks and their signatures."""

from __future__ import annotations

from sessions_app.domain.protocols.table import (
    SCHEMA,
    SETTING,
    SIGNATURE,
    rule,
    says,
    unchecked,
)

_MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must"
    " remain as they were in the original response."
)

THINKING_RULES = (
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
