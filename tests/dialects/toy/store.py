"""The toy's file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sessions_app.domain.model import DialectName, Row
from sessions_app.stores.linestore import LineStore


class ToyStore(LineStore):
    """One file with one session behind the other."""

    kind = "toy-file"

    @property
    def dialects(self) -> tuple[DialectName, ...]:
        return ("toy",)

    def sessions_in(self, lines: Sequence[str]) -> Iterable[tuple[Row, range]]:
        heads = [(place, head) for place, line in enumerate(lines) if (head := _head(line)) is not None]
        ends = [place for place, _ in heads[1:]] + [len(lines)]
        for (start, head), end in zip(heads, ends, strict=True):
            times = {"time_created": head["time"], "time_updated": head["time"]}
            yield {"id": head["id"], "title": head["title"], "dialect": "toy", **times}, range(start, end)


def recognises(path: Path, text: str) -> bool:
    """Its first line begins a session."""
    return _head(text.partition("\n")[0]) is not None


def _head(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) and value.get("type") == "session" and "title" in value else None
