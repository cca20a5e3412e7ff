"""A conversation over a stored session: prompts in, turns written, each request lowered from what is stored
(docs/contract/design.md#7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sessions_app.domain import bodies, dialects
from sessions_app.domain.lowering import lower
from sessions_app.domain.model import SessionRows
from sessions_app.domain.wire.target import Target

from .items import Draft, Speaker
from .machine import Price, Processor
from .minting import Mint
from .ports import RequestBody
from .requests import ToolSpec, request_body
from .shapes import Shape
from .turn import Engine, TurnEnd, run_turn


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Who talks to whom, about what, and what may be spent. ``output`` is the most tokens of one response."""

    engine: Engine
    shape: Shape
    target: Target
    speaker: Speaker
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    output: int = 8_192
    steps: int = 50
    price: Price = lambda usage: 0

    def ask(self, text: str) -> TurnEnd:
        """Store the prompt and run its turn to the end."""
        prompt = self._draft()
        writes = self.shape.prompt(prompt, text, self._mint(prompt.id).new("prt", prompt.created))
        self.engine.store.write(writes)
        return self.go_on(prompt.id)

    def go_on(self, parent_id: str) -> TurnEnd:
        """Answer the stored prompt ``parent_id``."""
        return run_turn(self.engine, lambda: self._processor(parent_id), self.request, self.steps)

    def request(self) -> RequestBody:
        """The next request, out of the session as it is stored now. Raises ``LoweringError``."""
        session = dialects.decode(self.engine.store.rows())
        lowered = lower(session, self.target)
        lowered.ends = True
        body: Mapping[str, Any] = bodies.written(lowered, session, self.target).body
        return request_body(body, self.target, output=self.output, stream=True, system=self.system, tools=self.tools)

    def _processor(self, parent_id: str) -> Processor:
        draft = self._draft(parent_id)
        return Processor(draft, self.shape, self._mint(draft.id), self.price)

    def _draft(self, parent_id: str = "") -> Draft:
        """A message behind everything that is stored: opencode sorts by time, older versions and V2 by id and by
        seq."""
        rows, now = self.engine.store.rows(), self.engine.around.clock()
        now = max(now, latest_time(rows) + 1)
        mint = Mint(self.engine.around.tails, last_id(rows))
        seq = 1 + max((row["seq"] for row in rows.session_message if isinstance(row.get("seq"), int)), default=-1)
        return Draft(mint.new("msg", now), rows.id, parent_id, self.speaker, now, seq)

    def _mint(self, message_id: str) -> Mint:
        return Mint(self.engine.around.tails, message_id)


def latest_time(rows: SessionRows) -> int:
    """When the newest message was made, in milliseconds."""
    times = (row.get("time_created") for row in (*rows.messages, *rows.session_message))
    return max((time for time in times if isinstance(time, int)), default=0)


def last_id(rows: SessionRows) -> str:
    """The id of the message that is last by time."""
    history = rows.messages or rows.session_message
    return str(history[-1].get("id", "")) if history else ""
