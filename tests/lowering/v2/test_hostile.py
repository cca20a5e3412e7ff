"""Rows that nobody's client wrote: whatever they hold, the outcome is a body or a plain refusal."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from sessions_app.domain import jsjson
from sessions_app.domain.ndjson import lower_line
from tests.each import for_each
from tests.factories.goldens import Golden, goldens

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1e400,
    2**70,
    "",
    "text",
    "\ud83d",
    [],
    [[]],
    [None],
    {},
    {"": {}},
    {"type": "text"},
]
KINDS = {"decode", "lower", "InvalidRequest"}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += places(item, (*path, key))
    return found


def mutated(data: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    data = copy.deepcopy(data)
    holder: Any = data
    *way, last = dice.choice(places(data))
    for step in way:
        holder = holder[step]
    if isinstance(holder, dict) and dice.random() < 0.3:
        del holder[last]
    else:
        holder[last] = dice.choice(ODD)
    return data


@for_each("golden", [golden for golden in goldens() if not golden.name.startswith("random")], name=repr, one_in=8)
def test_one_odd_value_anywhere_never_crashes_a_line(golden: Golden) -> None:
    dice = random.Random(repr(golden))
    for given in (golden.generation, None):
        for _ in range(10):
            line = golden.document()
            if not line["session_message"]:
                continue
            row = dice.choice(line["session_message"])
            row["data"] = json.dumps(mutated(json.loads(row["data"]), dice))
            line["generation"] = given
            out = lower_line(line)
            jsjson.encode(out).encode()
            for answer in [out, *out.get("bodies", {}).values()]:
                assert answer.get("error", {}).get("kind", "lower") in KINDS


WINDOW = [{"role": "assistant", "content": [{"type": "tool-call", "id": "c", "name": "n", "input": {}}]}]


def test_one_odd_value_in_a_native_window_never_crashes_a_line() -> None:
    dice = random.Random(7)
    context = {"version": 1, "provenance": {"providerID": "p", "modelID": "m"}, "messages": WINDOW}
    data = {
        "status": "completed",
        "reason": "auto",
        "summary": "S",
        "recent": "R",
        "time": {"created": 0},
        "providerContext": context,
    }
    sent = 0
    for _ in range(300):
        row = {"id": "msg_1", "type": "compaction", "seq": 1, "data": json.dumps(mutated(data, dice))}
        out = lower_line(
            {
                "session": {"id": "s", "version": "2.0"},
                "session_message": [row],
                "generation": 3,
                "target": {"provider": "p", "model": "m"},
            }
        )
        jsjson.encode(out).encode()
        sent += bool(out.get("canonical"))
    assert sent
