"""The items of a Responses body: ids, members, types, sizes (R5 to R7, R11 to R15, A31)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.protocols.checking import Pointer, Request, lone_surrogates, objects, survey, text_of
from sessions_app.domain.protocols.media import data_url, sniff
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
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


@dataclass(frozen=True, slots=True)
class Item:
    """One member of ``input``. An easy message ``{role, content}`` has the kind "message"."""

    kind: str
    index: int
    data: dict[str, Any]

    @property
    def id(self) -> str:
        return text_of(self.data.get("id"))

    @property
    def call_id(self) -> str:
        return text_of(self.data.get("call_id"))

    @property
    def pointer(self) -> Pointer:
        return ("input", self.index)

    @property
    def position(self) -> str:
        return f"input[{self.index}]"


@dataclass(frozen=True, slots=True)
class View:
    request: Request
    items: list[Item]
    stateless: bool
    gateway: bool
    """A gateway of the DeepSeek kind (R17)."""


def read(request: Request, gateway: bool) -> View:
    items = [
        Item(text_of(data.get("type")) or ("message" if "role" in data else ""), index, data)
        for index, data in enumerate(request.list_of("input"))
    ]
    return View(request, items, request.body.get("store") is False, gateway)


def ids(view: View) -> Iterator[Violation]:
    """R5 (prefix by type) and R6 (alphabet and length of an item id)."""
    for item in view.items:
        if "id" not in item.data:
            continue
        where = f"{item.position}.id"
        prefix = PREFIXES.get(item.kind)
        if len(item.id) > ID_LIMIT:
            yield view.request.broken("R6", _too_long(where, ID_LIMIT, len(item.id)), where, item.pointer)
        elif not _ID.match(item.id):
            error = (
                f"Invalid '{where}': '{item.id}'. Expected an ID that contains letters, numbers, underscores, or"
                " dashes, but this value contained additional characters."
            )
            yield view.request.broken("R6", error, where, item.pointer)
        elif prefix and not item.id.startswith(prefix):
            error = f"Invalid '{where}': '{item.id}'. Expected an ID that begins with '{prefix}'."
            yield view.request.broken("R5", error, where, item.pointer)


def call_ids(view: View) -> Iterator[Violation]:
    """R7: ids of calls have 1 to 64 characters."""
    for item in view.items:
        if "call_id" not in item.data or 0 < len(item.call_id) <= ID_LIMIT:
            continue
        where = f"{item.position}.call_id"
        if len(item.call_id) > ID_LIMIT:
            yield view.request.broken("R7", _too_long(where, ID_LIMIT, len(item.call_id)), where, item.pointer)
        else:
            error = (
                f"Invalid '{where}': empty string. Expected a string with minimum length 1, but got an empty string"
                " instead."
            )
            yield view.request.broken("R7", error, where, item.pointer)


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
                error = f"Invalid value: '{kind}'. Supported values are: {listed}."
                where = f"{item.position}.content[{index}]"
                yield view.request.broken("R11", error, where, (*item.pointer, "content", index))


def required_members(view: View) -> Iterator[Violation]:
    """R12: members that an item cannot do without."""
    for item in view.items:
        for name in _REQUIRED.get(item.kind, ()):
            if name not in item.data:
                where = f"{item.position}.{name}"
                yield view.request.broken("R12", f"Missing required parameter: '{where}'.", where, item.pointer)


def reasoning_content(view: View) -> Iterator[Violation]:
    """R13: reasoning carries no ``content`` at OpenAI. Compatible servers write it and want it."""
    for item in view.items:
        content = item.data.get("content")
        if item.kind == "reasoning" and isinstance(content, list) and content and not view.gateway:
            where = f"{item.position}.content"
            error = (
                f"Invalid '{where}': array too long. Expected an array with maximum length 0, but got an array with"
                f" length {len(content)} instead."
            )
            yield view.request.broken("R13", error, where, item.pointer)


def functions(view: View) -> Iterator[Violation]:
    """R14: arguments are a string, names of the right alphabet; and the sizes of 3a."""
    for item in view.items:
        if item.kind == "function_call":
            yield from _function(view, item)
        elif item.kind == "function_call_output":
            output = item.data.get("output")
            if isinstance(output, str) and len(output) > OUTPUT_LIMIT:
                where = f"{item.position}.output"
                yield view.request.broken("R-size", _too_long(where, OUTPUT_LIMIT, len(output)), where, item.pointer)
    if len(view.items) > ITEM_LIMIT:
        error = (
            f"Invalid 'input': array too long. Expected an array with maximum length {ITEM_LIMIT}, but got an array"
            f" with length {len(view.items)} instead."
        )
        yield view.request.broken("R-size", error, "input", ("input",), faults=("context-overflow",))


def _function(view: View, item: Item) -> Iterator[Violation]:
    if "arguments" in item.data:
        arguments = item.data["arguments"]
        where = f"{item.position}.arguments"
        if not isinstance(arguments, str):
            error = f"Invalid type for '{where}': expected a string, but got an object instead."
            yield view.request.broken("R14", error, where, item.pointer)
        elif len(arguments) > ARGUMENTS_LIMIT:
            yield view.request.broken("R-size", _too_long(where, ARGUMENTS_LIMIT, len(arguments)), where, item.pointer)
    if "name" in item.data:
        name = text_of(item.data["name"])
        where = f"{item.position}.name"
        if len(name) > NAME_LIMIT:
            yield view.request.broken("R14", _too_long(where, NAME_LIMIT, len(name)), where, item.pointer)
        elif not _ID.match(name):
            error = (
                f"Invalid '{where}': string does not match pattern. Expected a string that matches the pattern"
                " '^[a-zA-Z0-9_-]+$'."
            )
            yield view.request.broken("R14", error, where, item.pointer)


def unreplayable_reasoning(view: View) -> Iterator[Violation]:
    """R15: without storage, reasoning with neither encrypted content nor id cannot be replayed (its text is not the
    reasoning)."""
    if not view.stateless or view.gateway:
        return
    for item in view.items:
        if item.kind == "reasoning" and not item.data.get("encrypted_content") and not item.id:
            where = f"{item.position}.encrypted_content"
            yield view.request.broken("R15", f"Missing required parameter: '{where}'.", where, item.pointer)


def sealed_shape(view: View) -> Iterator[Violation]:
    """R10, as far as it can be seen: OpenAI's encrypted content starts with gAAA. A warning; whose it is only the
    server knows."""
    if view.request.target.profile not in OPENAI_SEALS:
        return
    for item in view.items:
        content = item.data.get("encrypted_content")
        if item.kind == "reasoning" and content is not None and not text_of(content).startswith("gAAA"):
            error = (
                f"The encrypted content {str(content)[:4]}... could not be verified. Reason: Encrypted content could"
                " not be decrypted or parsed."
            )
            yield view.request.broken("R10", error, item.position, item.pointer, doubtful=True)


def media(view: View) -> Iterator[Violation]:
    """Images whose bytes are no image, or longer than the API takes (wire-rules 3a; rules 2.3)."""
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
                if len(text_of(part.get("image_url"))) > IMAGE_LIMIT:
                    error = _too_long(f"{where}.image_url", IMAGE_LIMIT, len(text_of(part.get("image_url"))))
                    yield view.request.broken("R-size", error, where, pointer)
                elif not real.valid or (real.mime and real.mime not in _IMAGES):
                    error = (
                        "The image data you provided does not represent a valid image. Please check your input and try"
                        " again with one of the supported image formats: ['image/jpeg', 'image/png', 'image/gif',"
                        " 'image/webp']."
                    )
                    yield view.request.broken("R-media", error, where, pointer)


def broken_text(view: View) -> Iterator[Violation]:
    """A31 holds here as well: half surrogate pairs make the body no JSON."""
    if not survey(view.request.body)[1]:
        return
    for pointer in lone_surrogates(view.request.body):
        error = "The request body is not valid JSON: no low surrogate in string: line 1 column N (char N)"
        yield view.request.broken("A31", error, ".".join(map(str, pointer[:4])), pointer)


def _too_long(where: str, limit: int, length: int) -> str:
    return (
        f"Invalid '{where}': string too long. Expected a string with maximum length {limit}, but got a string with"
        f" length {length} instead."
    )
