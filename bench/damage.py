"""Ways in which a made-up session is damaged, each one that the rules find (docs/contract/rules.md)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from bench.madesession import MadeSession

type Row = dict[str, Any]


READABLE = ("stuck", "repeated", "odd-input", "odd-id")
"""Ways that leave every row readable."""


def damage(made: MadeSession, dice: random.Random, ways: Sequence[str] = ()) -> str:
    """Damage one to three places of a session in one of ``ways`` (none = any); returns the way's name."""
    signs = made.maker.provider == "anthropic" and not made.maker.silent
    name = dice.choice([one for one in ways or WAYS if one != "unsigned" or signs])
    for _ in range(dice.randint(1, 3)):
        WAYS[name](made, dice)
    return name


def _call(made: MadeSession, dice: random.Random) -> Row:
    calls: list[Row] = [row["data"] for row in made.parts if row["data"]["type"] == "tool"]
    return dice.choice(calls)


def _stuck(made: MadeSession, dice: random.Random) -> None:
    call = _call(made, dice)
    call["state"] = {"status": "running", "input": call["state"]["input"], "time": {"start": made.start}}


def _repeated(made: MadeSession, dice: random.Random) -> None:
    """A second call of the same name and id in the same message."""
    at = dice.choice([at for at, row in enumerate(made.parts) if row["data"]["type"] == "tool"])
    row = made.parts[at]
    again = row["id"][:-14] + "".join(dice.choices("0123456789", k=14))
    made.parts.insert(at + 1, {**row, "id": again, "data": {**row["data"]}})


def _odd_input(made: MadeSession, dice: random.Random) -> None:
    _call(made, dice)["state"]["input"] = "not an object"


def _odd_id(made: MadeSession, dice: random.Random) -> None:
    _call(made, dice)["callID"] = ""


def _timeless(made: MadeSession, dice: random.Random) -> None:
    _call(made, dice)["state"].pop("time", None)


def _unsigned(made: MadeSession, dice: random.Random) -> None:
    """The turn ends after a call, whose thinking has lost its signature: only then must it still be there."""
    if made.messages[-1]["data"]["finish"] == "stop":
        gone = made.messages.pop()["id"]
        made.parts = [row for row in made.parts if row["message_id"] != gone]
    last = made.messages[-1]["id"]
    at = next(at for at, row in enumerate(made.parts) if row["message_id"] == last) + 1
    if made.parts[at]["data"]["type"] != "reasoning":
        id_ = made.parts[at - 1]["id"] + "z"
        time = {"start": made.start, "end": made.start}
        made.parts.insert(at, {**made.parts[at], "id": id_, "data": {"type": "reasoning", "text": "", "time": time}})
    thought = made.parts[at]["data"]
    thought.pop("metadata", None)
    thought["text"] = thought["text"] or "Thought."


def _broken(made: MadeSession, dice: random.Random) -> None:
    """JSON that ends too early; the writer takes texts as they are."""
    dice.choice(made.parts)["data"] = '{"type":"text","text":"'


WAYS: dict[str, Callable[[MadeSession, random.Random], None]] = {
    "stuck": _stuck,
    "repeated": _repeated,
    "odd-input": _odd_input,
    "odd-id": _odd_id,
    "timeless": _timeless,
    "unsigned": _unsigned,
    "broken": _broken,
}
