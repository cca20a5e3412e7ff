"""Words that belong to no wire rule: sizes, whoever says it, and the words of the client itself.

Facts: docs/contract/rules.md#2.10, #2.19 to #2.32; docs/contract/wire.md#f6, #f15, #f18.
"""

from __future__ import annotations

from sessions_app.domain.protocols.table import (
    CALLS,
    EMPTY,
    FOREIGN,
    MEDIA,
    NO_RESULT,
    OVERFLOW,
    SAME_ID,
    TWICE,
    Words,
    says,
)

UNRULED: tuple[Words, ...] = (
    says(
        r"prompt is too long|context_length_exceeded|maximum context length|exceeds model limit|session too large to"
        r" compact"
        r"|contextoverflowerror",
        "context-overflow huge-output compaction-loop dangling-tail",
        OVERFLOW,
    ),
    says(r"string too long", "huge-output call-id-charset", OVERFLOW, general=True),
    says(r"tool result is missing for tool call|missingtoolresultserror", CALLS, NO_RESULT),
    says(r"duplicate provider tool call id", TWICE, SAME_ID),
    says(
        r"source tool \S+ not found for tool use block",
        "history-shape-foreign",
        FOREIGN,
        speaks="anthropic-messages",
    ),
    says(
        r"message not found: msg_",
        "dangling-parent",
        "An answer points to a message that is not in the session.",
    ),
    says(
        r"missing key at |expected [\w ]+, got |do not match the modelmessage\[\] schema|session not found",
        "undecodable-row",
        "The client cannot read a row: a required field is missing or has another type.",
        general=True,
    ),
    says(r"functionality not supported|url scheme must be http", "media-rejected", MEDIA),
    says(
        r"invalid anthropic provider options",
        "thinking-unsigned history-shape-foreign",
        FOREIGN,
        speaks="anthropic-messages",
    ),
    says(r"text cannot be empty|must not be empty|must be non-empty", "empty-content", EMPTY, general=True),
    says(
        r"disk image is malformed|sqlite_corrupt|file is not a database|btreeinitpage",
        "sqlite-corrupt",
        "The database file itself is damaged.",
    ),
    says(
        r"unexpected end of json|unexpected eof|syntaxerror: .*json|json parse error",
        "corrupt-json",
        "A stored row or file does not hold JSON.",
    ),
    says(r"foreign key constraint failed", "orphan-row", "A row belongs to a row that is not there."),
    says(
        r"prompt injection patterns detected|request blocked: prompt injection",
        "content-policy-text",
        "A filter in front of the provider refuses a stored text.",
    ),
)
