"""What a pasted text says, without what it was copied and wrapped in.

A text comes out of a terminal, a log, a chat or a web page, and the provider's own sentence stands in JSON within JSON
by gateways and clients. First the marks of the copying go, then the wrapping is opened down to the innermost words.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

READ_LIMIT = 256 * 1024
"""Characters of a pasted text that are read, from its head and its tail: a log may say it last."""
WORDS_LIMIT = 48 * 1024
"""Characters in which known words are looked for, again from head and tail."""
_DEPTH_LIMIT = 6
_STRINGS_LIMIT = 400
_TRIES = 50

_QUOTES = re.compile(r"[`'\"“”‘’\\]")


def normalised(text: str) -> str:
    """The text as patterns want it: small letters, single blanks, no quotes and backticks."""
    return " ".join(_QUOTES.sub("", text.replace("\\n", " ").replace("\\u0060", "")).lower().split())


@dataclass(frozen=True)
class Words:
    """Some of a text, in the two forms that words are looked for in."""

    text: str

    @cached_property
    def spaced(self) -> str:
        """Normalised: small letters, single blanks, no quotes."""
        return normalised(_shortened(self.text, WORDS_LIMIT))

    @cached_property
    def tight(self) -> str:
        """Without any white space: terminals break lines inside words."""
        return self.spaced.replace(" ", "")

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """As words are looked for: lines joined by a blank, and, where there are several, joined by nothing."""
        return (self.spaced, normalised(self.glued)) if "\n" in self.text.strip() else (self.spaced,)

    @cached_property
    def glued(self) -> str:
        """As written, without the line breaks and what stands around them."""
        return _BREAK.sub("", _shortened(self.text, WORDS_LIMIT))


@dataclass(frozen=True)
class Said:
    """What a text says: ``layers`` are the messages in its wrapping, the innermost first, and last all there is."""

    layers: tuple[Words, ...]

    @property
    def whole(self) -> Words:
        """All that the text says, around its JSON and in it."""
        return self.layers[-1]


def said(text: str) -> Said:
    """Reads a pasted text."""
    found = _Found()
    found.open(cleaned(_shortened(text, READ_LIMIT)), 0)
    layers = [
        Words("\n".join((*found.names.get(depth, ()), *found.messages[depth])))
        for depth in sorted(found.messages, reverse=True)
    ]
    return Said((*layers, Words("\n".join((*found.around, *found.strings)))))


def _shortened(text: str, limit: int) -> str:
    """The first three quarters of the limit and the last one."""
    tail = limit // 4
    return text if len(text) <= limit else f"{text[: limit - tail]}\n{text[-tail:]}"


# Marks of the copying

_BREAK = re.compile(r"[ \t]{0,40}\r?\n\s{0,40}")
_OSC = re.compile(r"(?:\x1b|\^\[)\][^\x07\x1b]{0,500}(?:\x07|\x1b\\)")
_ANSI = re.compile(
    r"(?:\x1b|\^\[|\u241b|\\x1b|\\u001b|\\033|\\e)\[[0-9;:?]{0,30}[A-Za-z]|\[[0-9]{1,3}(?:;[0-9]{1,3}){0,5}m"
)
_UNSEEN = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_INLINE = re.compile(r"</?(?:code|b|i|em|strong|span|a|mark|u|kbd|samp|wbr)(?:\s[^<>]{0,300})?/?>", re.IGNORECASE)
_BLOCK = re.compile(
    r"</?(?:br|p|div|pre|html|head|title|body|center|h[1-6]|hr|ul|ol|li|td|tr|table)(?:\s[^<>]{0,300})?/?>",
    re.IGNORECASE,
)
_MARKDOWN = re.compile(r"\\([`_*\[\]{}()#+.!>~|<-])")
_CODE_POINT = re.compile(
    r"\\{1,8}u(?!d[89a-f])(00[89a-f][0-9a-f]|0[1-9a-f][0-9a-f]{2}|[1-9a-f][0-9a-f]{3})", re.IGNORECASE
)
_BLANK = re.compile(r"\s")
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")
_BLANKS = re.compile(r"[ \t]{5,}")
_BORDER_LEFT = re.compile(r"^ {0,4}(?:(?:[\u2500-\u259f|]|>(?=[ >]|$)) {0,4}){1,20}", re.MULTILINE)
_BORDER_RIGHT = re.compile(r" {0,4}[\u2500-\u259f|][\u2500-\u259f| ]{0,200}$")
_BORDER = 205
"""Characters that a border at the right takes at most."""


_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


def _unquoted(text: str) -> str:
    return _ESCAPES.sub(lambda run: bytes.fromhex(run[0].replace("%", "")).decode(errors="replace"), text)


def cleaned(text: str) -> str:
    """The text without escape sequences, borders, quote marks, invisible characters and the escapes of web pages."""
    text = _UNSEEN.sub("", _ANSI.sub("", _OSC.sub("", text)))
    text = text.replace("\u2028", "\n").replace("\u2029", "\n").replace("\r\n", "\n").replace("\r", "\n")
    unbroken = not _BLANK.search(text.strip())
    if len(_ESCAPED.findall(text[:4096])) > (0 if unbroken else 2) or (unbroken and text.count("+") > 1):
        text = _unquoted(text if "%20" in text else text.replace("+", " "))
    for _ in range(2):
        if "&" in text:
            text = html.unescape(text)
    text = _BLOCK.sub("\n", _INLINE.sub("", text))
    text = _CODE_POINT.sub(lambda found: chr(int(found[1], 16)), text)
    text = _MARKDOWN.sub(r"\1", text).replace("**", "")
    text = _BLANKS.sub("    ", text)
    return "\n".join(map(_without_right_border, _BORDER_LEFT.sub("", text).split("\n")))


def _without_right_border(line: str) -> str:
    """Only its end is looked at: a line of nothing but borders would be read anew from each of them."""
    return line[:-_BORDER] + _BORDER_RIGHT.sub("", line[-_BORDER:])


# Wrapping

_SAYING = frozenset(
    [
        "message",
        "msg",
        "error",
        "detail",
        "details",
        "raw",
        "responsebody",
        "body",
        "text",
        "reason",
        "error_message",
        "errormessage",
        "error_description",
        "description",
        "title",
        "errors",
    ]
)
"""Members whose strings are sentences for people."""
_NAMING = frozenset(["code", "type", "status", "statuscode", "http_code", "status_code", "error_code", "name", "param"])
_REQUEST = frozenset(
    [
        "requestbodyvalues",
        "requestbody",
        "request_body",
        "request",
        "messages",
        "tools",
        "input",
        "prompt",
        "contents",
        "headers",
        "responseheaders",
        "response_headers",
        "stack",
    ]
)
"""Members that hold what was sent, not what was answered: a conversation may quote any error."""


class _Found:
    """What is found in a text: ``around`` its JSON, sentences and codes by depth, and all strings."""

    def __init__(self) -> None:
        self.around: list[str] = []
        self.messages: dict[int, list[str]] = {}
        self.names: dict[int, list[str]] = {}
        self.strings: list[str] = []

    def open(self, text: str, depth: int) -> bool:
        """Takes a text apart; False where no JSON is in it."""
        around: list[str] = []
        found = False
        start = 0
        for at, end, value in _documents(text):
            around.append(text[start:at])
            start = end
            found = True
            self._take(value, depth + 1)
        around.append(text[start:])
        if not found and '\\"' in text and depth < _DEPTH_LIMIT:
            found = self.open(text.replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\"), depth + 1)
            around = [] if found else around
        if depth == 0 or found:
            self.around += around
        return found

    def _take(self, value: Any, depth: int) -> None:
        stack: list[tuple[str, Any, int]] = [("", value, depth)]
        while stack and len(self.strings) < _STRINGS_LIMIT:
            name, item, level = stack.pop()
            if isinstance(item, dict):
                inner = [(str(key), one, level + 1) for key, one in item.items() if not _sent(str(key), one)]
                stack.extend(reversed(inner))
            elif isinstance(item, list):
                stack.extend((name, one, level) for one in reversed(item))
            elif isinstance(item, str):
                self._string(name.lower(), item, level)
            elif isinstance(item, int) and name.lower() in _NAMING:
                self._name(name, str(item), level)

    def _string(self, name: str, text: str, depth: int) -> None:
        if name in _NAMING:
            self._name(name, text, depth)
            return
        text = cleaned(text)
        if depth < 4 * _DEPTH_LIMIT and "{" in text and self.open(text, depth):
            return
        self.strings.append(text)
        if name in _SAYING:
            self.messages.setdefault(depth, []).append(text)

    def _name(self, name: str, text: str, depth: int) -> None:
        self.strings.append(f"{name}: {text}")
        self.names.setdefault(depth, []).append(f"{name}: {text}")


def _sent(name: str, value: Any) -> bool:
    return name.lower() in _REQUEST and isinstance(value, (dict, list))


def _documents(text: str) -> Iterator[tuple[int, int, Any]]:
    """The JSON objects in a text, with where each begins and ends."""
    decoder = json.JSONDecoder(strict=False)
    at = text.find("{")
    for _ in range(_TRIES):
        if at == -1:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if value:
            yield at, end, value
        at = text.find("{", end)
