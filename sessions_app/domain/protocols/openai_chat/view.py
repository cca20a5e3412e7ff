"""A Chat Completions body as its rules read it: messages, and the run of tool messages behind each assistant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sessions_app.domain.protocols.checking import Pointer, Request, objects, text_of
from sessions_app.domain.protocols.openai_chat.profiles import Profile


@dataclass(frozen=True, slots=True)
class Call:
    """One entry of ``tool_calls``; ``message`` and ``index`` count as in the body."""

    id: str
    name: str
    function: dict[str, Any]
    message: int
    index: int

    @property
    def pointer(self) -> Pointer:
        """Its path in the body."""
        return ("messages", self.message, "tool_calls", self.index)

    @property
    def position(self) -> str:
        """As the API writes it."""
        return f"messages[{self.message}].tool_calls[{self.index}]"


@dataclass(slots=True)
class Message:
    """One member of ``messages`` with its calls."""

    role: str
    index: int
    data: dict[str, Any]
    calls: list[Call] = field(default_factory=list)

    @property
    def pointer(self) -> Pointer:
        """Its path in the body."""
        return ("messages", self.index)

    @property
    def content(self) -> Any:
        """As it is sent: text, a list, or null."""
        return self.data.get("content")

    @property
    def call_id(self) -> str:
        """The id that a tool message answers."""
        return text_of(self.data.get("tool_call_id"))

    @property
    def parts(self) -> list[dict[str, Any]]:
        """Its content where that is a list, else []."""
        return objects(self.content)

    @property
    def empty(self) -> bool:
        """Nothing in ``content``: null, absent, "", or a list without text."""
        content = self.content
        return content in (None, "", []) or (
            isinstance(content, list) and not any(part.get("type") != "text" or part.get("text") for part in self.parts)
        )


@dataclass(slots=True)
class Turn:
    """An assistant message with calls, the tool messages right behind it, and what comes then (None = end of the
    body)."""

    assistant: Message
    results: list[Message]
    after: Message | None


@dataclass(slots=True)
class View:
    """What the checks look at."""

    request: Request
    profile: Profile
    messages: list[Message]
    turns: list[Turn]

    @property
    def assistants(self) -> Iterator[Message]:
        """The assistant messages."""
        return (message for message in self.messages if message.role == "assistant")

    @property
    def calls(self) -> Iterator[Call]:
        """Every call of the history."""
        return (call for message in self.assistants for call in message.calls)

    @property
    def thinking_on(self) -> bool:
        """The target thinks, or its model always does."""
        return self.request.target.thinking == "on" or self.request.model.always_thinks


def read(request: Request, profile: Profile) -> View:
    """The view of a body, for the server that ``profile`` tells of."""
    messages = [_message(index, data) for index, data in enumerate(request.list_of("messages"))]
    turns: list[Turn] = []
    open_turn: Turn | None = None
    for message in messages:
        if open_turn is not None and message.role == "tool":
            open_turn.results.append(message)
            continue
        if open_turn is not None:
            open_turn.after = message
            open_turn = None
        if message.role == "assistant" and message.calls:
            open_turn = Turn(message, [], None)
            turns.append(open_turn)
    return View(request, profile, messages, turns)


def _message(index: int, data: dict[str, Any]) -> Message:
    message = Message(text_of(data.get("role")), index, data)
    if message.role == "assistant":
        for place, item in enumerate(objects(data.get("tool_calls"))):
            function = item.get("function")
            function = function if isinstance(function, dict) else {}
            message.calls.append(Call(text_of(item.get("id")), text_of(function.get("name")), function, index, place))
    return message
