"""The shape of canonical messages, for those that are stored ready made (docs/contract/formats.md#b2,
``providerContext``)."""

from __future__ import annotations

from typing import Final

from sessions_app.domain.dialects.opencode_v2.schemas import TOOL_CONTENT
from sessions_app.domain.dialects.opencode_v2.shape import (
    Check,
    anything,
    array,
    boolean,
    literal,
    record,
    records,
    struct,
    tagged,
    text,
)

_STATE: Final[dict[str, Check]] = {"providerMetadata": records(record)}
_TOOL: Final[dict[str, Check]] = {"providerExecuted": boolean, **_STATE}
_SOURCE = struct({"type": literal("base64"), "data": text, "mediaType": text})
_RESULT = tagged(
    "type",
    {
        **{kind: struct({"value": anything}) for kind in ("text", "json", "error")},
        "content": struct({"value": TOOL_CONTENT}),
    },
)
_PART = tagged(
    "type",
    {
        "text": struct({"text": text}, _STATE),
        "media": struct({"media": struct({"source": _SOURCE})}, {"filename": text, "metadata": record}),
        "reasoning": struct({"text": text}, _STATE),
        "tool-call": struct({"id": text, "name": text, "input": anything}, _TOOL),
        "tool-result": struct({"id": text, "name": text, "result": _RESULT}, _TOOL),
        "effort": struct({}, {"effort": text, "previous": text}),
    },
)

CANONICAL: Final = array(
    struct(
        {"role": literal("system", "user", "assistant", "tool"), "content": array(_PART)},
        {"id": text, "metadata": record},
    )
)
"""Checks a list of canonical messages; raises ``Mismatch``."""
