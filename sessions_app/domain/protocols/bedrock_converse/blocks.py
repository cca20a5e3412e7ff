"""The content blocks of a Converse body (B6 to B9, B11, B14, B15)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.protocols.bedrock_converse.claude import PREFIX
from sessions_app.domain.protocols.checking import Pointer, Request, objects, text_of
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
_END = r"\Z"
_ID = re.compile(r"[a-zA-Z0-9_.:-]+" + _END)
_NAME = re.compile(r"[a-zA-Z0-9_-]+" + _END)
_DOCUMENT = re.compile(r"[a-zA-Z0-9\-()\[\]]+( [a-zA-Z0-9\-()\[\]]+)*\Z")


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    index: int
    content: list[dict[str, Any]]

    @property
    def position(self) -> str:
        return f"messages.{self.index}"

    @property
    def pointer(self) -> Pointer:
        return ("messages", self.index)

    def block(self, index: int) -> Pointer:
        return ("messages", self.index, "content", index)

    def members(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Index and value of the blocks that are of one kind."""
        for index, block in enumerate(self.content):
            member = block.get(name)
            if isinstance(member, dict):
                yield index, member

    def has(self, *names: str) -> bool:
        return any(name in block for block in self.content for name in names)


@dataclass(frozen=True, slots=True)
class View:
    request: Request
    messages: list[Message]

    @property
    def claude(self) -> bool:
        model = self.request.target.model.lower()
        return "claude" in model or "anthropic" in model


def read(request: Request) -> View:
    listed = request.list_of("messages")
    messages = [
        Message(text_of(data.get("role")), index, objects(data.get("content"))) for index, data in enumerate(listed)
    ]
    return View(request, messages)


def union(view: View) -> Iterator[Violation]:
    """B14: a block is exactly one thing that the service knows."""
    for message in view.messages:
        for index, block in enumerate(message.content):
            if len(block) != 1 or next(iter(block)) not in MEMBERS:
                where = f"{message.position}.content.{index}"
                error = f"Unexpected field type at {where}"
                yield view.request.broken("B14", error, where, message.block(index))


def empty_content(view: View) -> Iterator[Violation]:
    """B7: no empty content list; one that holds a cache point alone has nothing to cache."""
    for message in view.messages:
        if not message.content:
            where = f"{message.position}"
            error = (
                f"The content field in the Message object at {where} is empty. Add a ContentBlock object to the content"
                " field and try again."
            )
            yield view.request.broken("B7", error, where, message.pointer)
        elif all("cachePoint" in block for block in message.content):
            error = "There is nothing available to cache. Please remove the invalid cache point and try again."
            yield view.request.broken("B7", error, message.position, message.pointer)


def blank_text(view: View) -> Iterator[Violation]:
    """B6: no blank text, in Claude's words or the service's own. Beside signed reasoning the client puts blanks itself:
    a warning."""
    for message in view.messages:
        for index, block in enumerate(message.content):
            text = block.get("text")
            if not isinstance(text, str) or text.strip():
                continue
            where = f"{message.position}.content.{index}"
            if view.claude:
                words = "contain non-whitespace text" if text else "be non-empty"
                error = f"{PREFIX}messages: text content blocks must {words}"
            else:
                error = (
                    f"The text field in the ContentBlock object at {where} is blank. Add text to the text field, and"
                    " try again."
                )
            signed = bool(text) and message.role == "assistant" and _signed(message)
            yield view.request.broken("B6", error, where, message.block(index), doubtful=signed)


def _signed(message: Message) -> bool:
    for _, member in message.members("reasoningContent"):
        spoken = member.get("reasoningText")
        if not isinstance(spoken, dict) or "signature" in spoken:
            return True
    return False


def calls(view: View) -> Iterator[Violation]:
    """B8 (input is an object) and B9 (alphabet and length of ids and names)."""
    for message in view.messages:
        for kind in ("toolUse", "toolResult"):
            for index, member in message.members(kind):
                wire = (message.index, index, kind)
                call_id = text_of(member.get("toolUseId"))
                if not _allowed(call_id, _ID):
                    yield _constrained(view, call_id, wire, "toolUseId", _ID, "call-id-charset")
                if kind == "toolResult":
                    continue
                name = text_of(member.get("name"))
                if not _allowed(name, _NAME):
                    yield _constrained(view, name, wire, "name", _NAME, "tool-name-invalid")
                if not isinstance(member.get("input"), dict):
                    where = f"{message.position}.content.{index}.{kind}.input"
                    error = (
                        f"The format of the value at {where} is invalid. Provide a json object for the field and try"
                        " again."
                    )
                    yield view.request.broken("B8", error, where, message.block(index))


def _allowed(value: str, regex: re.Pattern[str]) -> bool:
    return 0 < len(value) <= 64 and regex.match(value) is not None


def _constrained(
    view: View, value: str, place: tuple[int, int, str], name: str, regex: re.Pattern[str], fault: str
) -> Violation:
    """B9 for the member ``name`` of the block at ``place`` (message, index, kind), which the service counts from 1."""
    message, index, kind = place
    where = f"messages.{message + 1}.member.content.{index + 1}.member.{kind}.{name}"
    start = f"Value '{value}' at '{where}' failed to satisfy constraint: Member must"
    if len(value) > 64:
        error = f"{start} have length less than or equal to 64"
    elif not value:
        error = f"{start} have length greater than or equal to 1"
    else:
        error = f"{start} satisfy regular expression pattern: {regex.pattern.removesuffix(_END)}"
    return view.request.broken("B9", error, where, ("messages", message, "content", index), faults=(fault,))


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
                error = f"{PREFIX}A maximum of 4 blocks with cache_control may be provided. Found {count}."
                yield view.request.broken("B11", error, f"{message.position}.content.{index}", message.block(index))
                return


def documents(view: View) -> Iterator[Violation]:
    """B15: names of documents, and a text beside each."""
    for message in view.messages:
        for index, member in message.members("document"):
            where = f"{message.position}.content.{index}.document.name"
            name = text_of(member.get("name"))
            if not _DOCUMENT.match(name) or len(name) > 200:
                error = (
                    "The document file name can only contain alphanumeric characters, whitespace characters, hyphens,"
                    " parentheses, and square brackets. The name can't contain more than one consecutive whitespace"
                    " character."
                )
                yield view.request.broken("B15", error, where, message.block(index))
            if not message.has("text"):
                error = f"A text block is required beside a document at {message.position}.content"
                yield view.request.broken("B15", error, where, message.block(index))
