"""What a real V2 server (1.18.18) sent next in its sessions, with the strict provider's answer
(docs/contract/v2-server.md)."""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.dialects import decode
from sessions_app.domain.model import Session
from sessions_app.domain.rowdoc import parse_value
from sessions_app.domain.wire.target import Target, make_target
from tests.paths import DATA


@dataclass(frozen=True, slots=True)
class Recording:
    """One session before a prompt, and the request that followed. ``accepted`` None: no request was sent."""

    name: str
    note: str
    model: str | None
    npm: str
    path: str | None
    accepted: bool | None
    error: str | None
    requests: list[str]
    messages: list[dict[str, Any]] | None
    rewritten: list[dict[str, Any]]
    rows: dict[str, Any]

    def __str__(self) -> str:
        return self.name

    def session(self) -> Session:
        return decode(parse_value(self.rows))

    @property
    def target(self) -> Target:
        provider, _, model = (self.model or "fake/m1").partition("/")
        protocols = {"fake": "openai-chat", "fakea": "anthropic-messages", "fakeo": "openai-responses"}
        return make_target(provider, model, "off", self.path or protocols.get(provider, "openai-chat"))  # type: ignore[arg-type]


def _read() -> dict[str, Recording]:
    lines = lzma.decompress((DATA / "recordings-v2.jsonl.xz").read_bytes()).decode().splitlines()
    return {one.name: one for one in (Recording(**json.loads(line)) for line in lines)}


RECORDINGS = _read()
TURNS = [one for one in RECORDINGS.values() if one.requests and one.requests[0] == "turn"]
"""Those whose first request is the turn itself and no summary."""
