"""The golden files (docs/contract/formats.md#b7) and what the tests need around them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from sessions_app.domain.dialects.opencode_v2 import decode_messages
from sessions_app.domain.lowering.v2 import lower_messages
from sessions_app.domain.model import Row, SessionRows
from sessions_app.domain.wire.lowered import Lowered
from sessions_app.domain.wire.target import Target
from tests.paths import GOLDENS

GENERATIONS = (1, 2, 3)


class Golden:
    """One golden: its input as rows, and what the client made of it."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.name: str = record["name"]
        self.generation: int = record["gen"]
        self.record = record
        self.input: dict[str, Any] = record["input"]
        self.expected: dict[str, Any] = record["expected"]
        self.unfixed: dict[str, Any] = record["unfixed"]

    def __repr__(self) -> str:
        return f"gen{self.generation}-{self.name}"

    @property
    def wire(self) -> dict[str, Any]:
        return self.expected.get("wire") or self.expected.get("wire_approx") or {}

    @property
    def target(self) -> Target:
        model = self.input["model"]
        key = self.input.get("providerMetadataKey", "")
        return Target("openai-chat", model["providerID"], model["id"], metadata_key=key)

    def rows(self) -> SessionRows:
        return SessionRows({"id": "ses_golden"}, session_message=v2_rows(self.input["messages"]))

    def lower(self, repairs: bool = True) -> Lowered:
        """The lowering alone: the golden's messages are selected already."""
        messages, _ = decode_messages(self.rows(), self.generation)
        return lower_messages(messages, self.target, repairs)

    def document(self) -> dict[str, Any]:
        """The golden as a line for ``lower - --ndjson``."""
        model = self.input["model"]
        line: dict[str, Any] = {
            "session": {"id": "ses_golden"},
            "session_message": v2_rows(self.input["messages"]),
            "target": {"provider": model["providerID"], "model": model["id"]},
            "generation": self.generation,
        }
        if "providerMetadataKey" in self.input:
            line["target"]["metadata_key"] = self.input["providerMetadataKey"]
        if "cache" in self.input:
            line["cache"] = self.input["cache"]
        return line


def v2_rows(messages: list[dict[str, Any]]) -> list[Row]:
    """Messages as the client decodes them (id and type inside) to rows of ``session_message``, numbered by ``seq``."""
    rows: list[Row] = []
    for seq, message in enumerate(messages, start=1):
        data = {key: value for key, value in message.items() if key not in ("id", "type")}
        rows.append(
            {
                "id": message["id"],
                "session_id": "ses_golden",
                "type": message["type"],
                "seq": seq,
                "time_created": message["time"].get("created", 0),
                "data": json.dumps(data, separators=(",", ":")),
            }
        )
    return rows


@cache
def goldens() -> tuple[Golden, ...]:
    return tuple(Golden(json.loads(line)) for line in _lines())


def _lines() -> Iterator[str]:
    for generation in GENERATIONS:
        for family in ("named", "random"):
            yield from (GOLDENS / f"{family}-gen{generation}.jsonl").read_text().splitlines()
