"""How fast a V2 session of 20,000 items is decoded and lowered, and how much memory that takes: ``python -m
bench.lowering``.

Every figure stands beside a plain ``json.loads`` + ``json.dumps`` of the same session in the same run, so that runs on
different machines can be compared by their ratios. An item is one content item of an assistant message.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from sessions_app.domain.dialects.opencode_v2 import decode_messages
from sessions_app.domain.lowering.v2 import lower_messages
from sessions_app.domain.model import SessionRows
from sessions_app.domain.protocols.anthropic_messages import v2 as anthropic
from sessions_app.domain.protocols.bedrock_converse import v2 as bedrock
from sessions_app.domain.protocols.gemini import v2 as gemini
from sessions_app.domain.protocols.openai_chat import v2 as chat
from sessions_app.domain.protocols.openai_responses import v2 as responses
from sessions_app.domain.wire.lowered import Body, Lowered
from sessions_app.domain.wire.target import Target

TARGET = Target("anthropic-messages", "anthropic", "claude-x", metadata_key="anthropic")
WRITERS: dict[str, Callable[..., Body]] = {
    "anthropic-messages": anthropic.write,
    "openai-chat": chat.write,
    "openai-responses": responses.write,
    "gemini": gemini.write,
    "bedrock-converse": bedrock.write,
}
FLOORS = {"canonical from decoded rows": 100_000, "canonical from raw rows": 40_000, "body": 60_000}
"""Items per second on one core that must be reached."""
MEMORY_LIMIT = 6.0
"""Peak memory over the session's own bytes."""
PLAIN = (
    "the",
    "agent",
    "reads",
    "a",
    "file,",
    "edits",
    "three",
    "lines",
    "and",
    "runs",
    "the",
    "tests",
    "again;",
)
FOREIGN = (*PLAIN, "naïve", "café", "—", "всё", "зелёное", "✓")
"""Every fourth text draws from these: beyond Latin-1 a string takes two bytes a character in memory."""


def session(items: int, seed: int = 1) -> SessionRows:
    """A generation 3 session with ``items`` content items in turns of a prompt and some steps, as a working agent
    leaves it."""
    dice = random.Random(seed)
    rows: list[dict[str, Any]] = []

    def words(count: int) -> str:
        return " ".join(dice.choices(FOREIGN if dice.random() < 0.25 else PLAIN, k=count))

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
        model = {"providerID": TARGET.provider, "id": TARGET.model}
        add("assistant", {"agent": "build", "model": model, "content": content, "finish": "tool-calls"})
    return SessionRows({"id": "ses_bench", "version": "2.0.15"}, session_message=rows)


def _tool(call: str, dice: random.Random, words: Callable[[int], str]) -> dict[str, Any]:
    path = {"filePath": f"/project/src/{call}.py", "offset": dice.randint(0, 999), "limit": 80}
    output = [{"type": "text", "text": words(120)}]
    state = {"status": "completed", "input": path, "content": output, "metadata": {"truncated": False}}
    at = {"created": 1_790_000_000_000, "ran": 1_790_000_000_001, "completed": 1_790_000_000_002}
    return {"type": "tool", "id": call, "name": "read", "state": state, "time": at}


def best(run: Callable[[], object], rounds: int) -> float:
    """Seconds of processor time of the fastest of ``rounds`` runs: the machine may be busy with other things."""
    fastest = float("inf")
    for _ in range(rounds):
        gc.collect()
        started = time.process_time()
        run()
        fastest = min(fastest, time.process_time() - started)
    return fastest


def peak(run: Callable[[], object]) -> int:
    """Most bytes held at once by what ``run`` allocates."""
    gc.collect()
    tracemalloc.start()
    kept = run()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del kept
    return most


def everything(rows: SessionRows) -> list[object]:
    """All that a payload tab holds at once: decoded messages, canonical messages, one body with its provenance."""
    messages, _ = decode_messages(rows)
    lowered = lower_messages(messages, TARGET)
    return [messages, lowered, anthropic.write(lowered, TARGET)]


def measure(items: int, rounds: int) -> tuple[dict[str, float], float, float]:
    """Seconds by step, seconds of the plain JSON round trip, peak memory over the session's bytes."""
    rows = session(items)
    texts = [row["data"] for row in rows.session_message]

    def plain() -> None:
        for text in texts:
            json.dumps(json.loads(text))

    def raw() -> Lowered:
        return lower_messages(decode_messages(rows)[0], TARGET)

    # Before anything is held, since the collector looks again and again at all that lives.
    by_hand, from_raw = best(plain, rounds), best(raw, rounds)
    messages, faults = decode_messages(rows)
    if faults:
        raise SystemExit(f"the bench session does not decode: {faults[0].words}")
    lowered = lower_messages(messages, TARGET)
    seconds = {
        "canonical from decoded rows": best(lambda: lower_messages(messages, TARGET), rounds),
        "canonical from raw rows": from_raw,
    }
    for name, write in WRITERS.items():
        target = replace(TARGET, protocol=name)  # type: ignore[arg-type]
        seconds[f"body {name}"] = best(partial(write, lowered, target, provenance=False), rounds)
        seconds[f"body {name} with provenance"] = best(partial(write, lowered, target), rounds)
    size = sum(len(text.encode()) for text in texts)
    return seconds, by_hand, peak(lambda: everything(rows)) / size


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    seconds, plain, memory = measure(asked.items, asked.rounds)
    missed = 0
    print(f"{'step':46} {'seconds':>8} {'items/s':>9} {'x plain JSON':>13} {'to reach':>9}")
    print(f"{'json.loads + json.dumps':46} {plain:8.3f} {asked.items / plain:9,.0f} {1:13.2f}")
    for step, took in seconds.items():
        floor = FLOORS.get(step, FLOORS["body"])
        rate = asked.items / took
        missed += rate < floor
        print(f"{step:46} {took:8.3f} {rate:9,.0f} {took / plain:13.2f} {floor:9,}")
    missed += memory > MEMORY_LIMIT
    print(f"{'peak memory / bytes of the session':46} {memory:8.2f} {'':9} {'':13} {MEMORY_LIMIT:9}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
