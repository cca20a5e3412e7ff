"""What can be read in an error text besides its words: positions and ids (docs/contract/wire.md#0.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

type Pointer = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A position as written, the path in the body that it stands for, and whose style it is. Paths that start with
    "rows" count the client's own list of messages."""

    position: str
    pointer: Pointer
    protocol: str


# Positions

_ANTHROPIC = re.compile(
    r"messages\.(\d+)(?!\.?\d*\.member)(?:\.content(?:\.(\d+)(?:\.tool_result\.content\.(\d+))?)?)?",
    re.IGNORECASE,
)
_MEMBER = re.compile(r"messages\.(\d+)\.member\.content\.(\d+)\.member", re.IGNORECASE)
_CHAT = re.compile(r"messages?(?:\.\[|\[)(\d+)\](?:\.tool_calls\[(\d+)\]|\.content\[(\d+)\])?", re.IGNORECASE)
_CHAT_WORDS = re.compile(
    r"message at position (\d+)|message at index (\d+)|message index (\d+)|call message at index (\d+)",
    re.IGNORECASE,
)
_INPUT = re.compile(r"input\[(\d+)\](?:\.(output|content)\[(\d+)\])?", re.IGNORECASE)
_CONTENTS = re.compile(r"contents\[(\d+)\](?:\.parts\[(\d+)\])?", re.IGNORECASE)
_GEMINI_WORDS = re.compile(r"function call `?default_api:[^`\s,]*`? ?, position (\d+)")
_ROW = re.compile(r"\[(\d+)\]\[\\?\"(info|parts)\\?\"\](?:\[(\d+)\])?(?:\[\\?\"(\w+)\\?\"\])?")


def places(text: str) -> Iterator[Place]:
    """Every position in the text, in the styles of all providers."""
    for match in _MEMBER.finditer(text):
        yield Place(match[0], ("messages", _index(match[1]) - 1, "content", _index(match[2]) - 1), "bedrock-converse")
    for match in _ANTHROPIC.finditer(text):
        yield Place(
            match[0],
            _pointer("messages", match[1], "content", match[2], "content", match[3]),
            _dotted(text, match),
        )
    for match in _CHAT.finditer(text):
        inner = "tool_calls" if match[2] else "content"
        yield Place(match[0], _pointer("messages", match[1], inner, match[2] or match[3]), "openai-chat")
    for match in _CHAT_WORDS.finditer(text):
        index = next(group for group in match.groups() if group)
        yield Place(match[0], _pointer("messages", index), "openai-chat")
    for match in _INPUT.finditer(text):
        yield Place(
            match[0], _pointer("input", match[1], (match[2] or "content").lower(), match[3]), "openai-responses"
        )
    for match in _CONTENTS.finditer(text):
        yield Place(match[0], _pointer("contents", match[1], "parts", match[2]), "gemini")
    for match in _GEMINI_WORDS.finditer(text):
        yield Place(f"position {match[1]}", ("contents", max(_index(match[1]) - 1, 0)), "gemini")
    for match in _ROW.finditer(text):
        pointer = _pointer("rows", match[1], "parts", match[3] if match[2] == "parts" else None)
        yield Place(match[0], (*pointer, match[4]) if match[4] else pointer, "")


def _dotted(text: str, match: re.Match[str]) -> str:
    """Groq writes ``'messages.8'``; "toolResult", "toolUse" and the service's own nouns are Bedrock's."""
    around = text[max(0, match.start() - 80) : match.end() + 40]
    if re.search(r"property '|role:assistant", around, re.IGNORECASE):
        return "openai-chat"
    bedrock = re.search(r"toolResult|toolUse|Message object|ContentBlock", around, re.IGNORECASE)
    return "bedrock-converse" if bedrock else "anthropic-messages"


def _index(digits: str) -> int:
    """No history has more than a billion messages; Python refuses to read thousands of digits."""
    return int(digits) if len(digits) < 10 else 10**9


def _pointer(*steps: str | None) -> Pointer:
    """Steps in pairs of name and index, up to the first index that is not there."""
    out: list[str | int] = []
    for name, index in zip(steps[::2], steps[1::2], strict=True):
        if name is None or index is None:
            break
        out += [name, _index(index)]
    return tuple(out)


# Ids

_PREFIXED = re.compile(
    r"\b(?:toolu|srvtoolu|tooluse|call|rs|fc|ctc|msg|prt|ses|chatcmpl-tool)[_-][A-Za-z0-9_-]+", re.IGNORECASE
)
_KIMI = re.compile(r"\bfunctions\.[A-Za-z0-9_.-]+:\d+")
_MEMBERS = ("call_id", "call_ids", "msg_id", "call_function")
"""Names of members, which look like ids."""
_NAMED = (
    re.compile(r"immediately after: ([^.]+(?:\.[^. ][^.]*)*?)\. "),
    re.compile(r"response messages: (.+?)(?: \(message\[\d+\]\))?(?:[\"'}\n]|$)"),
    re.compile(
        r"(?:blocks with id: |with call_id |function call |for the following Ids: |in `\w*tool_result` blocks:"
        r" )'?([^\s'\"`,]+)"
    ),
    re.compile(r"of ([^\s'\"]+) in message\[\d+\]"),
    re.compile(r"call_id '([^']+)'"),
    re.compile(r"Tool call id was (\S+) but"),
    re.compile(r"tool call id (\S+) in "),
    re.compile(r"Tool result is missing for tool call (\S+?)\.?(?:\s|$)"),
)


def ids(text: str) -> Iterator[str]:
    """Ids of calls, items, messages and parts that the text names: by their place in known sentences, else by their
    look."""
    for pattern in _NAMED:
        for match in pattern.finditer(text):
            for name in match[1].split(", "):
                name = name.strip().rstrip(".")
                if name and " " not in name and not name.startswith("`default_api"):
                    yield name
    for pattern in (_PREFIXED, _KIMI):
        for match in pattern.finditer(text):
            if match[0].lower() not in _MEMBERS:
                yield match[0]
