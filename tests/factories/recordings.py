"""The corpus' index, and what the real client sent next in its sessions, with the strict provider's answer."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

from sessions_app.domain.model import SessionRows
from sessions_app.domain.wire.target import ModelCapabilities, Target, make_target
from tests.paths import CORPUS

INDEX: dict[str, dict[str, Any]] = {entry["name"]: entry for entry in json.loads((CORPUS / "index.json").read_text())}
RECORDINGS: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text()) for path in sorted((CORPUS / "next").glob("*.json"))
}


def corpus_rows(name: str, session_id: str) -> SessionRows:
    """A session's rows, read without Suture's own stores."""
    with closing(sqlite3.connect(f"file:{CORPUS / name}.db?mode=ro&immutable=1", uri=True)) as database:
        database.row_factory = sqlite3.Row

        def rows(query: str) -> list[dict[str, Any]]:
            return [dict(row) for row in database.execute(query, (session_id,))]

        return SessionRows(
            rows("select * from session where id=?")[0],
            rows("select * from message where session_id=? order by time_created, id"),
            rows("select * from part where session_id=? order by message_id, id"),
        )


def named_target(recorded: dict[str, Any]) -> Target:
    """The target as Suture makes it from the recording's provider, model and protocol."""
    provider, _, model = recorded["model"].partition("/")
    return make_target(provider, model, "on" if recorded.get("think") else "off", recorded.get("path"))


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
