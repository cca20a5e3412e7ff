"""The items of a Responses body: ids, members, types, sizes (R5 to R7, R11 to R15, A31)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.protocols.checking import Pointer, Request, objects, text_of
from sessions_app.domain.protocols.media import IMAGES, data_url, sniff
from sessions_app.domain.protocols.traits import needs
from sessions_app.domain.wire.verdict import Violation

ID_LIMIT = 64
NAME_LIMIT = 128
OUTPUT_LIMIT = 10_485_760
ARGUMENTS_LIMIT = 1_048_576
IMAGE_LIMIT = 20_971_520
ITEM_LIMIT = 16_384

OPENAI_SEALS = ("openai", "azure", "copilot")
"""Profiles whose encrypted content is OpenAI's."""

PREFIXES = {"reasoning": "rs", "message": "msg", "function_call": "fc", "custom_tool_call": "ctc"}
_REQUIRED: dict[str, tuple[str, ...]] = {
    "reasoning": ("summary",),
    "function_call": ("call_id", "name", "arguments"),
    "function_call_output": ("call_id", "output"),
}
_CONTENT: dict[str, tuple[str, ...]] = {
    "assistant": ("output_text", "refusal"),
    "user": ("input_text", "input_image", "input_file"),
    "system": ("input_text", "input_image", "input_file"),
    "developer": ("input_text", "input_image", "input_file"),
}
_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")


@dataclass(frozen=True, slots=True)
class Item:
    """One member of ``input``. An easy message ``{role, content}`` has the kind "message"."""

    kind: str
    index: int
    data: dict[str, Any]

    @property
    def id(self) -> str:
        """The item's own id, "" where it has none."""
        return text_of(self.data.get("id"))

    @property
    def call_id(self) -> str:
        """The id of the call that it is or answers."""
        return text_of(self.data.get("call_id"))

    @property
    def pointer(self) -> Pointer:
        """Its path in the body."""
        return ("input", self.index)

    @property
    def position(self) -> str:
        """As the API writes it."""
        return f"input[{self.index}]"


@dataclass(frozen=True, slots=True)
class View:
    """What the checks look at."""

    request: Request
    items: list[Item]
    stateless: bool
    gateway: bool
    """A gateway of the DeepSeek kind (R17)."""


def read(request: Request, gateway: bool) -> View:
    """The view of a body; ``gateway`` as in ``View``."""
    items = [
        Item(text_of(data.get("type")) or ("message" if "role" in data else ""), index, data)
        for index, data in enumerate(request.list_of("input"))
    ]
    return View(request, items, request.body.get("store") is False, gateway)


@needs("odd-sealed")
def ids(view: View) -> Iterator[Violation]:
    """R5 (prefix by type) and R6 (alphabet and length of an item id)."""
    for item in view.items:
        if "id" not in item.data:
            continue
        where = f"{item.position}.id"
        prefix = PREFIXES.get(item.kind)
        if len(item.id) > ID_LIMIT:
            yield view.request.broken("R6", where, item.pointer, "long", limit=ID_LIMIT, length=len(item.id))
        elif not _ID.match(item.id):
            yield view.request.broken("R6", where, item.pointer, id=item.id)
        elif prefix and not item.id.startswith(prefix):
            yield view.request.broken("R5", where, item.pointer, id=item.id, prefix=prefix)


@needs("odd-id", "server")
def call_ids(view: View) -> Iterator[Violation]:
    """R7: ids of calls have 1 to 64 characters."""
    for item in view.items:
        if "call_id" not in item.data or 0 < len(item.call_id) <= ID_LIMIT:
            continue
        where = f"{item.position}.call_id"
        if len(item.call_id) > ID_LIMIT:
            yield view.request.broken("R7", where, item.pointer, limit=ID_LIMIT, length=len(item.call_id))
        else:
            yield view.request.broken("R7", where, item.pointer, "empty")


@needs("media", "content-result")
def content_types(view: View) -> Iterator[Violation]:
    """R11: an assistant says output_text, everyone else input_text and the like."""
    for item in view.items:
        allowed = _CONTENT.get(text_of(item.data.get("role")))
        if item.kind != "message" or allowed is None:
            continue
        for index, part in enumerate(objects(item.data.get("content"))):
            kind = text_of(part.get("type"))
            if kind not in allowed:
                names = [f"'{name}'" for name in allowed]
                listed = " and ".join(names) if len(names) == 2 else f"{', '.join(names[:-1])}, and {names[-1]}"
                where = f"{item.position}.content[{index}]"
                pointer = (*item.pointer, "content", index)
                yield view.request.broken("R11", where, pointer, kind=kind, allowed=listed)


@needs("odd-input")
def required_members(view: View) -> Iterator[Violation]:
    """R12: members that an item cannot do without."""
    for item in view.items:
        for name in _REQUIRED.get(item.kind, ()):
            if name not in item.data:
                say = name if name == "arguments" else ""
                yield view.request.broken("R12", f"{item.position}.{name}", item.pointer, say)


@needs("odd-sealed")
def reasoning_content(view: View) -> Iterator[Violation]:
    """R13: reasoning carries no ``content`` at OpenAI. Compatible servers write it and want it."""
    for item in view.items:
        content = item.data.get("content")
        if item.kind == "reasoning" and isinstance(content, list) and content and not view.gateway:
            where = f"{item.position}.content"
            yield view.request.broken("R13", where, item.pointer, limit=0, length=len(content))


@needs("odd-name", "odd-input", "large", "many", "server")
def functions(view: View) -> Iterator[Violation]:
    """R14: arguments are a string, names of the right alphabet; and the sizes of 3a."""
    for item in view.items:
        if item.kind == "function_call":
            yield from _function(view, item)
        elif item.kind == "function_call_output":
            output = item.data.get("output")
            if isinstance(output, str) and len(output) > OUTPUT_LIMIT:
                where = f"{item.position}.output"
                yield view.request.broken("R-size", where, item.pointer, limit=OUTPUT_LIMIT, length=len(output))
    if len(view.items) > ITEM_LIMIT:
        yield view.request.broken("R-size", "input", ("input",), "items", limit=ITEM_LIMIT, length=len(view.items))


def _function(view: View, item: Item) -> Iterator[Violation]:
    if "arguments" in item.data:
        arguments = item.data["arguments"]
        where = f"{item.position}.arguments"
        if not isinstance(arguments, str):
            yield view.request.broken("R14", where, item.pointer, "arguments")
        elif len(arguments) > ARGUMENTS_LIMIT:
            yield view.request.broken("R-size", where, item.pointer, limit=ARGUMENTS_LIMIT, length=len(arguments))
    if "name" in item.data:
        name = text_of(item.data["name"])
        where = f"{item.position}.name"
        if len(name) > NAME_LIMIT:
            yield view.request.broken("R14", where, item.pointer, "long", limit=NAME_LIMIT, length=len(name))
        elif not _ID.match(name):
            yield view.request.broken("R14", where, item.pointer)


@needs("odd-sealed")
def unreplayable_reasoning(view: View) -> Iterator[Violation]:
    """R15: without storage, reasoning with neither encrypted content nor id cannot be replayed (its text is not the
    reasoning)."""
    if not view.stateless or view.gateway:
        return
    for item in view.items:
        if item.kind == "reasoning" and not item.data.get("encrypted_content") and not item.id:
            yield view.request.broken("R15", f"{item.position}.encrypted_content", item.pointer)


@needs("odd-sealed")
def sealed_shape(view: View) -> Iterator[Violation]:
    """R10, as far as it can be seen: OpenAI's encrypted content starts with gAAA. A warning; whose it is only the
    server knows."""
    if view.request.target.profile not in OPENAI_SEALS:
        return
    for item in view.items:
        content = item.data.get("encrypted_content")
        if item.kind == "reasoning" and content is not None and not text_of(content).startswith("gAAA"):
            start = str(content)[:4]
            yield view.request.broken("R10", item.position, item.pointer, doubtful=True, start=start)


@needs("media", "content-result")
def media(view: View) -> Iterator[Violation]:
    """Images whose bytes are no image, or longer than the API takes (docs/contract/wire.md#3a;
    docs/contract/rules.md#2.3)."""
    for item in view.items:
        for key in ("content", "output"):
            for index, part in enumerate(objects(item.data.get(key))):
                if part.get("type") != "input_image":
                    continue
                url = data_url(text_of(part.get("image_url")))
                if url is None:
                    continue
                where = f"{item.position}.{key}[{index}]"
                pointer = (*item.pointer, key, index)
                real = sniff(url.data)
                length = len(text_of(part.get("image_url")))
                if length > IMAGE_LIMIT:
                    yield view.request.broken("R-size", where, pointer, "image", limit=IMAGE_LIMIT, length=length)
                elif not real.valid or not {url.mime, real.mime or url.mime} <= IMAGES:
                    yield view.request.broken("R-media", where, pointer)
