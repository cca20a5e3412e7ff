"""Arguments of a tool call that arrive in pieces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sessions_app.domain.processor.events import Metadata, ToolCall

_NOTHING: Mapping[str, Any] = {}


def complete_call(call_id: str, name: str, text: str, metadata: Metadata = _NOTHING) -> ToolCall:
    """The call, once its arguments are all there. No text at all is a call without arguments."""
    if not text.strip():
        return ToolCall(call_id, name, {}, metadata=metadata)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        return ToolCall(call_id, name, None, problem=f"not JSON ({problem})", raw=text, metadata=metadata)
    if not isinstance(value, dict):
        kind = type(value).__name__
        return ToolCall(call_id, name, None, problem=f"no object but {kind}", raw=text, metadata=metadata)
    return ToolCall(call_id, name, value, metadata=metadata)


def is_whole(text: str) -> bool:
    """The pieces so far are a whole JSON object: nothing but white space could follow."""
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
