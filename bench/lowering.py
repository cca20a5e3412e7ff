"""Canonical messages from the raw rows of a V2 session of 20,000 content items, beside a plain JSON round trip."""

from __future__ import annotations

import gc
import json
import random
import tracemalloc
from collections.abc import Callable
from typing import Any

from bench.suture import timed

ITEMS, ROUNDS = 20_000, 5
_PLAIN = ("the", "agent", "reads", "a", "file,", "edits", "three", "lines", "and", "runs", "the", "tests", "again;")
_FOREIGN = (*_PLAIN, "naïve", "café", "—", "всё", "зелёное", "✓")
"""Every fourth text draws from these: beyond Latin-1 a string takes two bytes a character in memory."""


def measure() -> dict[str, Any]:
    """Seconds of processor: ``plain`` JSON, ``canonical`` from raw rows, one ``body`` from canonical; ``held``: peak
    memory of all that a payload page holds, over the session's bytes."""
    from sessions_app.domain.dialects.opencode_v2 import decode_messages
    from sessions_app.domain.lowering.v2 import lower_messages
    from sessions_app.domain.protocols.anthropic_messages import v2 as anthropic
    from sessions_app.domain.wire.target import Target

    target = Target("anthropic-messages", "anthropic", "claude-x", metadata_key="anthropic")
    rows = session(ITEMS)
    texts = [row["data"] for row in rows.session_message]

    def raw() -> Any:
        return lower_messages(decode_messages(rows)[0], target)

    def everything() -> object:
        messages, faults = decode_messages(rows)
        assert not faults, faults[0].words
        lowered = lower_messages(messages, target)
        return [messages, lowered, anthropic.write(lowered, target)]

    # Before anything is held, since the collector looks again and again at all that lives.
    plain = _best(lambda: [json.dumps(json.loads(text)) for text in texts])
    canonical = _best(raw)
    lowered = raw()
    body = _best(lambda: anthropic.write(lowered, target))
    size = sum(len(text.encode()) for text in texts)
    return {"items": ITEMS, "plain": plain, "canonical": canonical, "body": body, "held": _peak(everything) / size}


def session(items: int, seed: int = 1) -> Any:
    """A generation 3 session with ``items`` content items in turns of a prompt and some steps, as a working agent
    leaves it."""
    from sessions_app.domain.model import SessionRows

    dice = random.Random(seed)
    rows: list[dict[str, Any]] = []

    def words(count: int) -> str:
        return " ".join(dice.choices(_FOREIGN if dice.random() < 0.25 else _PLAIN, k=count))

    def add(kind: str, data: dict[str, Any]) -> None:
        seq = len(rows)
        data["time"] = {"created": 1_790_000_000_000 + seq}
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        rows.append({"id": f"msg_{seq:08d}", "session_id": "ses_bench", "type": kind, "seq": seq, "data": text})

    made = 0
    while made < items:
        if len(rows) % 4 == 0:
            add("user", {"text": words(30)})
        content: list[dict[str, Any]] = [
            {"type": "reasoning", "text": words(40), "state": {"signature": "s" * 120}},
            {"type": "text", "text": words(20)},
        ]
        content += [_tool(f"toolu_{made}_{at}", dice, words) for at in range(dice.randint(1, 4))]
        content = content[: items - made]
        made += len(content)
        model = {"providerID": "anthropic", "id": "claude-x"}
        add("assistant", {"agent": "build", "model": model, "content": content, "finish": "tool-calls"})
    return SessionRows({"id": "ses_bench", "version": "2.0.15"}, session_message=rows)


def _tool(call: str, dice: random.Random, words: Callable[[int], str]) -> dict[str, Any]:
    path = {"filePath": f"/project/src/{call}.py", "offset": dice.randint(0, 999), "limit": 80}
    output = [{"type": "text", "text": words(120)}]
    state = {"status": "completed", "input": path, "content": output, "metadata": {"truncated": False}}
    at = {"created": 1_790_000_000_000, "ran": 1_790_000_000_001, "completed": 1_790_000_000_002}
    return {"type": "tool", "id": call, "name": "read", "state": state, "time": at}


def _best(action: Callable[[], object]) -> float:
    fastest = float("inf")
    for _ in range(ROUNDS):
        gc.collect()
        fastest = min(fastest, timed(action)["cpu"])
    return fastest


def _peak(action: Callable[[], object]) -> int:
    gc.collect()
    tracemalloc.start()
    kept = action()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del kept
    return most
