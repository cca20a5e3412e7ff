"""A Messages body as its rules read it: blocks in order, and groups of messages as the server merges them
(docs/contract/wire.md#1b, notes)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sessions_app.domain.protocols.checking import Pointer, Request, objects, text_of

THINKING = ("thinking", "redacted_thinking")


@dataclass(slots=True)
class Block:
    """One content block: ``data`` at ``messages[message].content[index]``. A bare string counts as one text block
    (``bare``)."""

    kind: str
    data: dict[str, Any]
    message: int
    index: int
    bare: bool = False

    @property
    def pointer(self) -> Pointer:
        """Its path in the body."""
        if self.bare:
            return ("messages", self.message, "content")
        return ("messages", self.message, "content", self.index)

    @property
    def position(self) -> str:
        """As the API writes it."""
        return f"messages.{self.message}.content.{self.index}"

    @property
    def text(self) -> str:
        """What it says, "" where it says nothing."""
        return text_of(self.data.get("text"))


@dataclass(slots=True)
class Message:
    """One member of ``messages`` with its blocks."""

    role: str
    index: int
    content: Any
    blocks: list[Block]

    @property
    def position(self) -> str:
        """As the API writes it."""
        return f"messages.{self.index}"

    @property
    def pointer(self) -> Pointer:
        """Its path in the body."""
        return ("messages", self.index)

    @property
    def empty(self) -> bool:
        """No content at all: a string or list of length nothing."""
        return self.content in ("", [], None)

    @property
    def signed(self) -> bool:
        """It holds thinking that a signature guards (redacted thinking always is)."""
        return any(
            block.kind == "redacted_thinking" or (block.kind == "thinking" and "signature" in block.data)
            for block in self.blocks
        )

    def has(self, *kinds: str) -> bool:
        """It holds a block of one of these kinds."""
        return any(block.kind in kinds for block in self.blocks)


@dataclass(slots=True)
class Group:
    """Consecutive messages of one role, which the server treats as one."""

    role: str
    messages: list[Message] = field(default_factory=list)

    @property
    def blocks(self) -> Iterator[Block]:
        """The blocks of all its messages, in order."""
        for message in self.messages:
            yield from message.blocks


@dataclass(slots=True)
class View:
    """What the checks look at."""

    request: Request
    messages: list[Message]
    groups: list[Group]
    blocks: list[Block]
    older: bool
    """The server is of unknown make: judged by what the recorded strict provider refuses (profiles.py)."""
    kinds: frozenset[str]
    """The kinds of blocks there are: a check of one that is not there looks at nothing."""
    thinking_on: bool
    """Manual thinking: the request says so, or the target is thinking and the request says nothing."""

    @property
    def last(self) -> Message | None:
        """The message that the request ends with."""
        return self.messages[-1] if self.messages else None


def read(request: Request, older: bool = False) -> View:
    """The view of a body; ``older`` as in ``View``."""
    messages = [_message(index, data) for index, data in enumerate(request.list_of("messages"))]
    groups: list[Group] = []
    for message in messages:
        if not groups or groups[-1].role != message.role:
            groups.append(Group(message.role))
        groups[-1].messages.append(message)
    thinking = request.body.get("thinking")
    mode = thinking.get("type") if isinstance(thinking, dict) else None
    on = mode == "enabled" if mode is not None else request.target.thinking == "on"
    blocks = [block for message in messages for block in message.blocks]
    return View(request, messages, groups, blocks, older, frozenset([block.kind for block in blocks]), on)


def _message(index: int, data: dict[str, Any]) -> Message:
    content = data.get("content")
    if isinstance(content, str):
        blocks = [Block("text", {"type": "text", "text": content}, index, 0, bare=True)]
    else:
        blocks = [Block(text_of(item.get("type")), item, index, place) for place, item in enumerate(objects(content))]
    return Message(text_of(data.get("role")), index, content, blocks)
