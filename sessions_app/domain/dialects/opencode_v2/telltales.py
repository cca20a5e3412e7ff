"""Which generation wrote a row: its tell-tales (docs/contract/formats.md#b0, #b5).

Every tell-tale narrows the set of generations a row can be of; many rows (a plain prompt, say) fit all three, and take
the generation of the rest of their session.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

ANY: Final = frozenset({1, 2, 3})
_OLD: Final = frozenset({1})
_NEW: Final = frozenset({2, 3})
_WITH_STRUCTURED: Final = frozenset({1, 2})
_NEWEST: Final = frozenset({3})

_TYPES: Final = {"skill": _NEW, "location-switched": _NEWEST, "idle": _NEWEST}
_KEYS: Final[dict[str, dict[str, frozenset[int]]]] = {
    "user": {"skills": _NEWEST},
    "synthetic": {"sessionID": _OLD, "description": _NEW},
    "system": {"description": _NEWEST},
    "shell": {"callID": _OLD, "shellID": _NEW, "status": _NEW, "exit": _NEW},
    "compaction": {
        "status": _NEW,
        "providerContext": _NEWEST,
        "providerState": _NEWEST,
        "native": _NEWEST,
        "tokens": _NEWEST,
        "cost": _NEWEST,
    },
    "assistant": {"retry": _NEW, "rawFinish": _NEWEST, "providerState": _NEWEST, "native": _NEWEST},
}
_FILE_KEYS: Final = {"uri": _OLD, "data": _NEW, "mention": _NEW}
_ITEM_KEYS: Final[dict[str, dict[str, frozenset[int]]]] = {
    "text": {"id": _OLD, "state": _NEWEST, "native": _NEWEST},
    "reasoning": {"id": _OLD, "providerMetadata": _OLD, "state": _NEW, "native": _NEWEST},
    "tool": {
        "provider": _OLD,
        "executed": _NEW,
        "providerState": _NEW,
        "providerResultState": _NEW,
        "native": _NEWEST,
    },
}
_STATE_KEYS: Final = {
    "structured": _WITH_STRUCTURED,
    "result": _WITH_STRUCTURED,
    "attachments": _OLD,
    "outputPaths": _OLD,
    "metadata": _NEWEST,
}


def candidates(kind: str, data: dict[str, Any]) -> frozenset[int]:
    """The generations a row of type ``kind`` can be of; empty where its tell-tales contradict each other."""
    found = _TYPES.get(kind, ANY) & _named(data, _KEYS.get(kind, {}))
    if kind == "assistant" and isinstance(data.get("content"), list):
        for item in data["content"]:
            if len(found) < 2:
                break
            if isinstance(item, dict):
                found &= _item(item)
        found &= _error(data.get("error"))
    elif kind == "user" and isinstance(data.get("files"), list):
        for file in data["files"]:
            if isinstance(file, dict):
                found &= _named(file, _FILE_KEYS)
    elif kind == "shell" and "output" in data:
        found &= _OLD if isinstance(data["output"], str) else _NEW
    elif kind == "compaction" and "status" not in data:
        found &= _OLD
    return found


def settle(rows: Sequence[frozenset[int]], version: str) -> list[int]:
    """A generation for every row: by its own tell-tales first, then those of its session, then what clients of the
    session's ``version`` write (1.x generation 1; 2.x generation 3, before it 2). In a session of 1.x that generation 1
    has written in, every row is read as generation 1: its client reads no other (docs/contract/v2-server.md#d7)."""
    if version.startswith("1.") and _OLD in rows:
        return [1] * len(rows)
    order = (3, 2, 1) if version.startswith("2.") else (1, 3, 2)
    common = ANY
    for row in rows:
        common = common & row or common
    return [next(number for number in order if number in (row & common or row or common)) for row in rows]


def _named(value: dict[str, Any], keys: dict[str, frozenset[int]]) -> frozenset[int]:
    found = ANY
    for key in keys.keys() & value.keys():
        found &= keys[key]
    return found


def _item(item: dict[str, Any]) -> frozenset[int]:
    kind = item.get("type")
    found = _named(item, _ITEM_KEYS.get(kind, {})) if isinstance(kind, str) else ANY
    if kind in ("text", "reasoning") and "id" not in item:
        found &= _NEW
    state = item.get("state")
    if kind != "tool" or not isinstance(state, dict):
        return found
    status = state.get("status")
    if status == "pending":
        return found & _OLD
    if status == "streaming":
        return found & _NEW
    found &= _named(state, _STATE_KEYS)
    if status in ("running", "completed", "error") and "structured" not in state:
        found &= _NEWEST
    return found & _error(state.get("error"))


def _error(error: Any) -> frozenset[int]:
    """Generation 1 knows one type of error only, and no HTTP status."""
    if isinstance(error, dict) and (error.get("type", "unknown") != "unknown" or "status" in error):
        return _NEW
    return ANY
