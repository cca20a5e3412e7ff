"""Healthy sessions of many kinds, the same for the same number: what clients write when nothing goes wrong, and what
they recover from by themselves."""

from __future__ import annotations

import random
from typing import Any

from sessions_app.domain.model import Session
from sessions_app.domain.wire.target import Target, make_target
from tests.factories.sessions import V1, V2, finish, reasoning, start, text, tool

PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)
TARGETS = (
    make_target("anthropic", "claude-sonnet-4-5", "off"),
    make_target("anthropic", "claude-opus-4-6", "on"),
    make_target("acme", "model-1"),
    make_target("moonshot", "kimi-x"),
    make_target("openai", "gpt-5"),
    make_target("google", "gemini-2.5-pro"),
)
TOOLS = ("bash", "read", "grep", "edit", "webfetch", "todowrite")


class _Making:
    """One session as it grows."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.seed = seed
        self.target: Target = self.dice.choice(TARGETS)
        self.calls = 0

    def call(self) -> dict[str, Any]:
        """A call with an id and arguments of its own; some fail, as tools do."""
        self.calls += 1
        name, call_id = self.dice.choice(TOOLS), f"call_{self.seed}_{self.calls}"
        given = {"input": {"command": f"step {self.calls}", "path": "/d/a.py"}}
        if self.dice.random() < 0.15:
            return tool(call_id, "error", name, **given, error=f"File not found: {self.calls}")
        picture = [{"type": "file", "mime": "image/png", "url": PNG, "filename": "a.png"}]
        more = {"attachments": picture} if name == "read" and self.dice.random() < 0.2 else {}
        return tool(
            call_id, "completed", name, **given, output=f"out {self.calls}\n" * self.dice.randint(1, 40), **more
        )

    def step(self, last: bool) -> list[dict[str, Any]]:
        """A response: thinking where the model thinks, text, then calls unless it is the last."""
        thinks = self.target.thinking == "on"
        parts = [start()]
        if thinks:
            parts.append(reasoning("let me think", f"sig{self.seed}"))
        if last or self.dice.random() < 0.7:
            parts.append(text(self.dice.choice(("Looking.", "  done \n", "Ünïcode 🎉 ok", "```\ncode\n```"))))
        if not last:
            parts += [self.call() for _ in range(self.dice.randint(1, 3))]
        return [*parts, finish("stop" if last else "tool-calls", input=10, output=5)]

    def prompt(self) -> list[Any]:
        parts: list[Any] = [f"please do {self.calls}"]
        if self.dice.random() < 0.2:
            parts.append({"type": "file", "mime": "image/png", "url": PNG, "filename": "shot.png"})
        if self.dice.random() < 0.1:
            parts.append({"type": "file", "mime": "text/plain", "url": "file:///d/a.txt", "filename": "a.txt"})
        return parts

    def v1(self) -> Session:
        history = V1(self.target)
        for turn in range(self.dice.randint(1, 5)):
            history = history.user(*self.prompt())
            for _ in range(self.dice.randint(0, 3)):
                history = history.assistant(*self.step(last=False), finish="tool-calls")
            history = history.assistant(*self.step(last=True))
            if turn and self.dice.random() < 0.1:
                history = self.compacted(history)
        steps = sum(part["data"]["type"] == "step-finish" for one in history.messages for part in one["parts"])
        history.session |= {"tokens_input": 10 * steps, "tokens_output": 5 * steps}
        return history.decoded()

    def compacted(self, history: V1) -> V1:
        history = history.user({"type": "compaction", "auto": True})
        parts = [start(), text("## Goal\nall of it"), finish("stop", input=10, output=5)]
        return history.assistant(*parts, summary=True, mode="compaction", agent="compaction")

    def v2(self) -> Session:
        # What Gemini says to parallel calls of a V2 history is a verdict of its own (tests/protocols).
        target = self.target if self.target.protocol != "gemini" else TARGETS[0]
        history = V2(target, self.dice.choice((1, 2, 3)))
        for _ in range(self.dice.randint(1, 4)):
            history = history.user("please")
            calls = []
            for _ in range(self.dice.randint(1, 3)):
                self.calls += 1
                given = {"input": {"command": f"step {self.calls}"}}
                calls.append(history.tool(f"call_{self.seed}_{self.calls}", **given))
            history = history.assistant({"type": "text", "id": f"t{self.calls}", "text": "on it"}, *calls)
            history = history.assistant({"type": "text", "id": f"u{self.calls}", "text": "done"})
        return history.decoded()


def healthy(seed: int) -> Session:
    """A healthy session: four of five are of V1."""
    making = _Making(seed)
    return making.v2() if seed % 5 == 4 else making.v1()
