"""A21 without a body: the turns of a history that the V1 client's writers only write, and nothing is odd about
(``traits``). Nearly every session that thinks has turns without thinking, in Claude's own protocol and behind Bedrock;
writing its body to see that took longer than all else."""

from __future__ import annotations

from typing import Any, Final

from sessions_app.domain.lowering.v1 import is_blank
from sessions_app.domain.lowering.v1_packages import SDK_KEYS, SIGNED_BY, has_state, package_of
from sessions_app.domain.protocols.checking import Pointer, Request, in_order
from sessions_app.domain.protocols.traits import Traits
from sessions_app.domain.versions import sends_unsigned_alone
from sessions_app.domain.wire.lowered import Lowered, Origin
from sessions_app.domain.wire.providers import BEDROCK
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wire.verdict import Violation

from .thinking import Turn, unthought

PLAIN: Final = frozenset(
    {"calls", "thinking-calls", "signed", "signed-calls", "sealed", "odd-sealed", "thought-signature", "many"}
)
"""Traits of histories of which every assistant message is sent, with its texts and calls as they are and its thinking
in front of the calls behind it."""


class Turns:
    """The assistant turns of a plain history, as the writer of ``target`` puts them; with the origins of what they
    begin with, and whether any thinking is sent."""

    def __init__(self, lowered: Lowered, target: Target, traits: Traits, *, calls_last: bool) -> None:
        """``calls_last``: the writer puts the calls of a message behind its texts."""
        self.package = package_of(target)
        self.key = SDK_KEYS[self.package]
        self.target = target
        self.stateless = self.package == BEDROCK and not sends_unsigned_alone(lowered.client)
        self.calls_last = calls_last
        self.thinks = False
        self.wanted = "thinking-calls" in traits
        self.turns: list[Turn] = []
        self.provenance: dict[Pointer, Origin] = {}
        self._read(lowered)

    def broken(self, request: Request) -> list[Violation]:
        """A21 in these turns."""
        return in_order(request, unthought(request, self.turns)) if self.wanted else []

    def _read(self, lowered: Lowered) -> None:
        group = -1
        before = ""
        for message, origins in zip(lowered.messages, lowered.origins, strict=True):
            role = "assistant" if message["role"] == "assistant" else "user"
            if role != before:
                group += 1
            if role == "assistant":
                first, at, calls = self._begins(message["content"])
                if role != before:
                    pointer = ("messages", group, "content", 0)
                    self.turns.append(Turn(first, group, pointer, calls))
                    self.provenance[pointer] = origins[at]
                elif calls:
                    self.turns[-1] = self.turns[-1]._replace(calls=True)
            before = role

    def _begins(self, content: list[dict[str, Any]]) -> tuple[str, int, bool]:
        """The kind of the first block that is sent, its place in ``content``, and whether there is a call."""
        found: tuple[str, int] | None = None
        call = -1
        for at, block in enumerate(content):
            kind = block["type"]
            if kind == "tool-call":
                call = at if call < 0 else call
                if found is None and not self.calls_last:
                    found = "tool_use", at
            elif kind == "text":
                found = found or ("text", at)
            elif self._sent(block):
                self.thinks = True
                found = found or ("thinking", at)
        return *(found or ("tool_use", call)), call >= 0

    def _sent(self, block: dict[str, Any]) -> bool:
        """The reasoning is signed for this target; without state of its package, some leave it out before."""
        metadata = block.get("providerMetadata", {})
        unsaid = self.stateless or is_blank(block["text"])
        if unsaid and self.package in SIGNED_BY and not has_state(self.package, metadata):
            return False
        state = metadata.get(self.target.provider if self.target.provider in metadata else self.key, {})
        return state.get("signature") is not None


def plain(traits: Traits, target: Target) -> bool:
    """Whether nothing but A21 can be broken by a history of these traits, and its turns can be told without a body."""
    return traits <= PLAIN and not target.capabilities.interleaved and "deepseek" not in target.model.lower()
