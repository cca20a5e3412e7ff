"""The content blocks of a Converse body (B6 to B9, B11, B14, B15)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.protocols.checking import Pointer, Request, objects, text_of
from sessions_app.domain.protocols.traits import needs
from sessions_app.domain.wire.verdict import Violation

MEMBERS = (
    "text",
    "image",
    "document",
    "video",
    "audio",
    "toolUse",
    "toolResult",
    "guardContent",
    "cachePoint",
    "reasoningContent",
    "citationsContent",
    "searchResult",
)
MAX_CACHE_POINTS = 4
_ID = re.compile(r"[a-zA-Z0-9_.:-]+\Z")
_NAME = re.compile(r"[a-zA-Z0-9_-]+\Z")
_DOCUMENT = re.compile(r"[a-zA-Z0-9\-()\[\]]+( [a-zA-Z0-9\-()\[\]]+)*\Z")


@dataclass(frozen=True, slots=True)
class Message:
    """One member of ``messages`` with its blocks."""

    role: str
    index: int
    content: list[dict[str, Any]]

    @property
    def position(self) -> str:
        """As the service writes it."""
        return f"messages.{self.index}"

    @property
    def pointer(self) -> Pointer:
        """Its path in the body."""
        return ("messages", self.index)

    def block(self, index: int) -> Pointer:
        """The path of one of its blocks."""
        return ("messages", self.index, "content", index)

    def members(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Index and value of the blocks that are of one kind."""
        for index, block in enumerate(self.content):
            member = block.get(name)
            if isinstance(member, dict):
                yield index, member

    def has(self, *names: str) -> bool:
        """It holds a block of one of these kinds."""
        return any(name in block for block in self.content for name in names)


@dataclass(frozen=True, slots=True)
class View:
    """What the checks look at."""

    request: Request
    messages: list[Message]

    @property
    def claude(self) -> bool:
        """The model behind the service is Claude."""
        return is_claude(self.request.target.model)


def is_claude(model: str) -> bool:
    """Whether a model id of the service names a Claude."""
    name = model.lower()
    return "claude" in name or "anthropic" in name


def read(request: Request) -> View:
    """The view of a body."""
    listed = request.list_of("messages")
    messages = [
        Message(text_of(data.get("role")), index, objects(data.get("content"))) for index, data in enumerate(listed)
    ]
    return View(request, messages)


@needs("media", "content-result")
def union(view: View) -> Iterator[Violation]:
    """B14: a block is exactly one thing that the service knows."""
    for message in view.messages:
        for index, block in enumerate(message.content):
            if len(block) != 1 or next(iter(block)) not in MEMBERS:
                yield view.request.broken("B14", f"{message.position}.content.{index}", message.block(index))


@needs("textless", "blank-text", "empty-text", "content-result", "media")
def empty_content(view: View) -> Iterator[Violation]:
    """B7: no empty content list; one that holds a cache point alone has nothing to cache."""
    for message in view.messages:
        if not message.content:
            yield view.request.broken("B7", message.position, message.pointer)
        elif all("cachePoint" in block for block in message.content):
            yield view.request.broken("B7", message.position, message.pointer, "cache")


@needs("blank-text", "empty-text", "textless")
def blank_text(view: View) -> Iterator[Violation]:
    """B6: no blank text, in Claude's words or the service's own. Beside signed reasoning the client puts blanks itself:
    a warning."""
    for message in view.messages:
        for index, block in enumerate(message.content):
            text = block.get("text")
            if not isinstance(text, str) or text.strip():
                continue
            say = ("claude-blank" if text else "claude-empty") if view.claude else ""
            signed = bool(text) and message.role == "assistant" and _signed(message)
            where = f"{message.position}.content.{index}"
            yield view.request.broken("B6", where, message.block(index), say, doubtful=signed)


def _signed(message: Message) -> bool:
    for _, member in message.members("reasoningContent"):
        spoken = member.get("reasoningText")
        if not isinstance(spoken, dict) or "signature" in spoken:
            return True
    return False


@needs("odd-id", "odd-name", "odd-input", "unpaired", "server")
def calls(view: View) -> Iterator[Violation]:
    """B8 (input is an object) and B9 (alphabet and length of ids and names)."""
    for message in view.messages:
        for kind in ("toolUse", "toolResult"):
            for index, member in message.members(kind):
                wire = (message.index, index, kind)
                call_id = text_of(member.get("toolUseId"))
                if not _allowed(call_id, _ID):
                    yield _constrained(view, call_id, wire, "toolUseId", "id")
                if kind == "toolResult":
                    continue
                name = text_of(member.get("name"))
                if not _allowed(name, _NAME):
                    yield _constrained(view, name, wire, "name", "name")
                if not isinstance(member.get("input"), dict):
                    where = f"{message.position}.content.{index}.{kind}.input"
                    yield view.request.broken("B8", where, message.block(index))


def _allowed(value: str, regex: re.Pattern[str]) -> bool:
    return 0 < len(value) <= 64 and regex.match(value) is not None


def _constrained(view: View, value: str, place: tuple[int, int, str], member: str, say: str) -> Violation:
    """B9 for a ``member`` of the block at ``place`` (message, index, kind), which the service counts from 1."""
    message, index, kind = place
    where = f"messages.{message + 1}.member.content.{index + 1}.member.{kind}.{member}"
    say += "_long" if len(value) > 64 else "" if value else "_empty"
    return view.request.broken("B9", where, ("messages", message, "content", index), say, value=value)


@needs("parameters")
def cache_points(view: View) -> Iterator[Violation]:
    """B11: Claude takes at most four cache points in system, tools and messages together."""
    if not view.claude:
        return
    body = view.request.body
    config = body.get("toolConfig")
    tools = objects(config.get("tools")) if isinstance(config, dict) else []
    count = sum("cachePoint" in item for item in (*objects(body.get("system")), *tools))
    for message in view.messages:
        for index, block in enumerate(message.content):
            count += "cachePoint" in block
            if count > MAX_CACHE_POINTS and "cachePoint" in block:
                where = f"{message.position}.content.{index}"
                yield view.request.broken("B11", where, message.block(index), count=count)
                return


@needs("media", "content-result")
def documents(view: View) -> Iterator[Violation]:
    """B15: names of documents, and a text beside each."""
    for message in view.messages:
        for index, member in message.members("document"):
            where = f"{message.position}.content.{index}.document.name"
            name = text_of(member.get("name"))
            if not _DOCUMENT.match(name) or len(name) > 200:
                yield view.request.broken("B15", where, message.block(index))
            if not message.has("text"):
                content = f"{message.position}.content"
                yield view.request.broken("B15", where, message.block(index), "text", content=content)
