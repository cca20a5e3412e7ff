"""V1 sessions for tests, built by hand."""

from __future__ import annotations

from typing import Any

from sessions_app.domain.dialects import decode
from sessions_app.domain.model import Session
from sessions_app.domain.rowdoc import parse_value
from sessions_app.domain.wire.target import Target


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
