"""Sizes, whoever says it, and the words of the client itself (rules.md 2.10, 2.19 to 2.32; wire-rules 6.8 F6, F15,
F18)."""

from __future__ import annotations

from sessions_app.domain.errorwords.entries import (
    ANTHROPIC,
    CALLS,
    EMPTY,
    FOREIGN,
    LONG,
    MEDIA,
    NO_RESULT,
    OVERFLOW,
    SAME_ID,
    TWICE,
    Words,
    words,
)

CLIENT_WORDS: tuple[Words, ...] = (
    words(
        r"prompt is too long|context_length_exceeded|maximum context length|exceeds model limit|session too large to"
        r" compact"
        r"|contextoverflowerror",
        "",
        "",
        LONG,
        OVERFLOW,
    ),
    words(r"string too long", "", "", "huge-output call-id-charset", OVERFLOW, general=True),
    words(r"tool result is missing for tool call|missingtoolresultserror", "", "", CALLS, NO_RESULT),
    words(r"duplicate provider tool call id", "", "", TWICE, SAME_ID),
    words(r"source tool \S+ not found for tool use block", ANTHROPIC, "", "history-shape-foreign", FOREIGN),
    words(
        r"message not found: msg_",
        "",
        "",
        "dangling-parent",
        "An answer points to a message that is not in the session.",
    ),
    words(
        r"missing key at |expected [\w ]+, got |do not match the modelmessage\[\] schema|session not found",
        "",
        "",
        "undecodable-row",
        "The client cannot read a row: a required field is missing or has another type.",
        general=True,
    ),
    words(r"functionality not supported|url scheme must be http", "", "", "media-rejected", MEDIA),
    words(
        r"invalid anthropic provider options",
        ANTHROPIC,
        "",
        "thinking-unsigned history-shape-foreign",
        FOREIGN,
    ),
    words(
        r"text cannot be empty|must not be empty|must be non-empty",
        "",
        "",
        "empty-content",
        EMPTY,
        general=True,
    ),
    words(
        r"disk image is malformed|sqlite_corrupt|file is not a database|btreeinitpage",
        "",
        "",
        "sqlite-corrupt",
        "The database file itself is damaged.",
    ),
    words(
        r"unexpected end of json|unexpected eof|syntaxerror: .*json|json parse error",
        "",
        "",
        "corrupt-json",
        "A stored row or file does not hold JSON.",
    ),
    words(r"foreign key constraint failed", "", "", "orphan-row", "A row belongs to a row that is not there."),
    words(
        r"prompt injection patterns detected|request blocked: prompt injection",
        "",
        "",
        "content-policy-text",
        "A filter in front of the provider refuses a stored text.",
    ),
)
