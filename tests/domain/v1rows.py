"""V1 sessions for tests: out of the corpus, or built by hand."""

from __future__ import annotations

import json
import sqlite3
from functools import cache
from typing import Any

from sessions_app.domain.dialects import decode
from sessions_app.domain.model import Session, SessionRows
from sessions_app.domain.rowdoc import parse_value
from sessions_app.domain.wire.target import ModelCapabilities, Target
from tests.paths import CORPUS


@cache
def index() -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in json.loads((CORPUS / "index.json").read_text())}


@cache
def recording(name: str) -> dict[str, Any]:
    return json.loads((CORPUS / "next" / f"{name}.json").read_text())


def corpus_rows(name: str, session_id: str) -> SessionRows:
    database = sqlite3.connect(f"file:{CORPUS / name}.db?mode=ro&immutable=1", uri=True)
    database.row_factory = sqlite3.Row
    try:

        def rows(query: str) -> list[dict[str, Any]]:
            return [dict(row) for row in database.execute(query, (session_id,))]

        return SessionRows(
            rows("select * from session where id=?")[0],
            rows("select * from message where session_id=? order by time_created, id"),
            rows("select * from part where session_id=? order by message_id, id"),
        )
    finally:
        database.close()


def recorded_target(recorded: dict[str, Any]) -> Target:
    """The recording's own target; the recorded models read images unless its configuration says otherwise."""
    provider, _, model = recorded["model"].partition("/")
    config = recorded.get("model_config") or {}
    interleaved = config.get("interleaved")
    return Target(
        "anthropic-messages" if recorded["npm"] == "@ai-sdk/anthropic" else "openai-chat",
        provider,
        model,
        "on" if recorded["think"] else "off",
        recorded["npm"],
        capabilities=ModelCapabilities(
            tuple(config.get("modalities", {"input": ["text", "image"]})["input"]),
            interleaved.get("field") if isinstance(interleaved, dict) else None,
        ),
    )


def user(*parts: dict[str, Any], **data: Any) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    return {
        "role": "user",
        "agent": "build",
        "model": {"providerID": "acme", "modelID": "m-1"},
        **data,
    }, parts


def assistant(*parts: dict[str, Any], **data: Any) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    return {"role": "assistant", "providerID": "acme", "modelID": "m-1", "finish": "stop", **data}, parts


def text(value: Any, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **more}


def tool(call_id: str, status: str = "completed", **more: Any) -> dict[str, Any]:
    state = {
        "status": status,
        "input": {"a": 1},
        "output": "out",
        "error": "bad",
        "time": {"start": 1, "end": 2},
        "title": "",
        "metadata": {},
    }
    part = {"type": "tool", "tool": "bash", "callID": call_id, "state": state}
    for key, value in more.items():
        (part if key in ("tool", "metadata") else state)[key] = value
    return part


START = {"type": "step-start"}
FINISH = {"type": "step-finish", "reason": "stop"}


def session(*messages: tuple[dict[str, Any], tuple[dict[str, Any], ...]], **columns: Any) -> Session:
    """A session of the messages: ids m0, m1 ..., parts m0p0, m0p1 ..., one millisecond apart."""
    document = {
        "session": {"id": "ses_1", **columns},
        "messages": [
            {
                "id": f"m{n}",
                "session_id": "ses_1",
                "time_created": n,
                "data": {"time": {"created": n}, **data},
                "parts": [{"id": f"m{n}p{k}", "data": part} for k, part in enumerate(parts)],
            }
            for n, (data, parts) in enumerate(messages)
        ],
    }
    return decode(parse_value(document))


CHAT = Target("openai-chat", "acme", "m-1", package="@ai-sdk/openai-compatible")
CLAUDE = Target("anthropic-messages", "acme", "claude-1", package="@ai-sdk/anthropic")
