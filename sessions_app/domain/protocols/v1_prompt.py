"""From canonical messages to the prompt that the V1 client's provider packages are handed (docs/contract/wire.md#6.1.8
and #6.1.9).

Step 8 (the AI SDK) resolves files and merges results, step 9 (the client's own transform) adapts the prompt to package
and model. Cache marks (docs/contract/wire.md#6.1.9.3) are left out: no rule of a history depends on them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sessions_app.domain import jsjson
from sessions_app.domain.halves import whole
from sessions_app.domain.lowering.v1 import is_blank
from sessions_app.domain.lowering.v1_packages import SDK_KEYS, SIGNED_BY, has_state, package_of
from sessions_app.domain.versions import sends_unsigned_alone
from sessions_app.domain.wire.callids import scrub, wants_nine
from sessions_app.domain.wire.lowered import NOBODY, Lowered, LoweringError, Origin
from sessions_app.domain.wire.providers import BEDROCK, COMPATIBLE, OPENROUTER, PROVIDERS
from sessions_app.domain.wire.target import Target

_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.\-]*):")
_PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")


@dataclass(slots=True)
class PromptMessage:
    """``blocks`` are canonical parts; a user's ``media`` has become ``file`` with ``mediaType`` and ``data`` (base64)
    or ``url``. ``origins`` run beside ``blocks``. ``fields`` are members that the transform adds to the written
    message."""

    role: str
    blocks: list[dict[str, Any]]
    origins: list[Origin]
    fields: dict[str, Any] = field(default_factory=dict)
    source: Origin = NOBODY
    """The stored message of blocks that were all dropped."""

    def pairs(self) -> Iterator[tuple[dict[str, Any], Origin]]:
        """The blocks with their origins."""
        return zip(self.blocks, self.origins, strict=True)

    def keep(self, wanted: Callable[[dict[str, Any]], bool]) -> None:
        """Drops the blocks that are not ``wanted``."""
        if all(map(wanted, self.blocks)):
            return
        if not self.source.message:
            self.source = Origin(next((origin.message for origin in self.origins if origin.message), ""), "")
        pairs = [pair for pair in zip(self.blocks, self.origins, strict=True) if wanted(pair[0])]
        self.blocks = [block for block, _ in pairs]
        self.origins = [origin for _, origin in pairs]

    @property
    def origin(self) -> Origin:
        """The stored message it came from, also where nothing of it is left; its part too where there is only one."""
        if not self.origins:
            return self.source
        first = self.origins[0]
        if not first.message:
            first = next((origin for origin in self.origins if origin.message), NOBODY)
        return first if len(self.blocks) == 1 else Origin(first.message, "")


def prompt(lowered: Lowered, target: Target) -> list[PromptMessage]:
    """The prompt for ``target``. Raises ``LoweringError`` with the client's words for a file it cannot load
    (docs/contract/wire.md#f6)."""
    messages = _converted(lowered)
    _replace_unreadable(messages, target)
    if not lowered.whole:
        for message in messages:
            message.blocks = [_well_formed(block) for block in message.blocks]
    messages = _normalised(messages, target, lowered)
    return _remapped(messages, target)


def grouped(messages: Iterable[PromptMessage]) -> Iterator[list[PromptMessage]]:
    """Messages as the block formats merge them: user and tool messages in a row are one, assistant messages in a row
    too."""
    group: list[PromptMessage] = []
    for message in messages:
        if group and (group[0].role == "assistant") != (message.role == "assistant"):
            yield group
            group = []
        group.append(message)
    if group:
        yield group


def decoded_text(data: str) -> str:
    """The text of base64 data; of data that is no base64, the bytes it spells."""
    try:
        raw = base64.b64decode(data + "=" * (-len(data) % 4), validate=True)
    except (binascii.Error, ValueError):
        raw = _PERCENT.sub(lambda match: bytes.fromhex(match[1].decode()), data.encode("utf-8", "surrogatepass"))
    return raw.decode("utf-8", "replace")


def own(block: dict[str, Any], key: str) -> dict[str, Any]:
    """What the provider left beside the block under ``key`` (docs/contract/wire.md#f16)."""
    metadata: dict[str, Any] = block.get("providerMetadata", {}).get(key, {})
    return metadata


def image(block: dict[str, Any]) -> str:
    """An image's address."""
    if "url" in block:
        return str(block["url"])
    kind = "image/jpeg" if block["mediaType"] == "image/*" else block["mediaType"]
    return f"data:{kind};base64,{block['data']}"


def said(block: dict[str, Any]) -> str:
    """A result's value as text."""
    result = block["result"]
    value = result["value"]
    if result["type"] in ("text", "error"):
        return str(value)
    if result["type"] == "content":
        value = [item if item["type"] == "text" else _as_json(item) for item in value]
    return jsjson.encode(value)


def _as_json(item: dict[str, Any]) -> dict[str, Any]:
    kind = "image-data" if item["mime"].startswith("image/") else "file-data"
    return {"type": kind, "data": item["uri"].partition(",")[2], "mediaType": item["mime"]}


def unsupported(what: str, origin: Origin) -> LoweringError:
    """What a provider package throws for content it has no place for (docs/contract/wire.md#f6)."""
    return LoweringError("unsupported-file", f"'{what}' functionality not supported.", origin)


def _converted(lowered: Lowered) -> list[PromptMessage]:
    """Step 8: files resolved, empty texts dropped, tool messages that follow one another merged."""
    messages: list[PromptMessage] = []
    for canonical, origins in zip(lowered.messages, lowered.origins, strict=True):
        role = canonical["role"]
        message = PromptMessage(role, canonical["content"], origins)
        if role == "user":
            message.blocks = [
                _file(block, origin) if block["type"] == "media" else block
                for block, origin in zip(message.blocks, origins, strict=True)
            ]
        elif role == "assistant":
            message.keep(_says_something)
        elif messages and messages[-1].role == "tool":
            last = messages[-1]
            last.blocks = last.blocks + message.blocks
            last.origins = last.origins + message.origins
            continue
        messages.append(message)
    return messages


def _says_something(block: dict[str, Any]) -> bool:
    return block["type"] != "text" or block["text"] != "" or "providerMetadata" in block


def _file(media: dict[str, Any], origin: Origin) -> dict[str, Any]:
    """A user's file with its data; the media type of a data URL wins over the part's own (docs/contract/wire.md#f3)."""
    source = media["data"]
    block = {"type": "file", "mediaType": media["mediaType"]}
    if "filename" in media:
        block["filename"] = media["filename"]
    scheme = _SCHEME.match(source)
    if scheme is None:
        return {**block, "data": source}
    name = scheme[1].lower()
    if name in ("http", "https"):
        return {**block, "url": source}
    if name != "data":
        raise LoweringError("download", f"URL scheme must be http, https, or data, got {name}:", origin)
    header, comma, rest = source.partition(",")
    if not comma:
        raise LoweringError("download", f"Invalid data URL format in content {source[:100]}", origin)
    return {**block, "mediaType": header.partition(":")[2].partition(";")[0], "data": rest.partition(",")[0]}


def _replace_unreadable(messages: Iterable[PromptMessage], target: Target) -> None:
    """A user's file of a kind the model does not read becomes a text that says so (docs/contract/wire.md#6.1.9.1)
    (docs/contract/wire.md#f4)."""
    for message in messages:
        if message.role == "user" and any(block["type"] == "file" for block in message.blocks):
            message.blocks = [_readable(block, target) for block in message.blocks]


def assumed_input(target: Target) -> tuple[str, ...]:
    """Input modalities of a model whose configuration is not known: images everywhere; PDF where a catalogued
    provider's package has documents; sound and video on Gemini only. The client takes all but text as not readable
    until the configuration says so."""
    if target.protocol == "gemini":
        return ("text", "image", "pdf", "audio", "video")
    documents = target.provider in PROVIDERS and target.protocol != "openai-chat"
    return ("text", "image", "pdf") if documents else ("text", "image")


def is_readable(media_type: str, target: Target) -> bool:
    """Whether the model reads such a file, as far as is known; else a note goes in its place."""
    return _modality(media_type) in ("", *(target.capabilities.input or assumed_input(target)))


def _readable(block: dict[str, Any], target: Target) -> dict[str, Any]:
    media_type = block.get("mediaType", "")
    if block["type"] != "file" or is_readable(media_type, target):
        return block
    kind = _modality(media_type)
    name = f'"{block["filename"]}"' if block.get("filename") else kind
    return {
        "type": "text",
        "text": f"ERROR: Cannot read {name} (this model does not support {kind} input). Inform the user.",
    }


def _modality(media_type: str) -> str:
    if media_type == "application/pdf":
        return "pdf"
    kind = media_type.partition("/")[0]
    return kind if kind in ("image", "audio", "video") else ""


def _well_formed(block: dict[str, Any]) -> dict[str, Any]:
    """Lone surrogates become U+FFFD in text, reasoning and the text of results (docs/contract/wire.md#6.1.9.2a); not in
    inputs, JSON results or names."""
    kind = block["type"]
    if kind in ("text", "reasoning"):
        text = block["text"]
        return _with(block, "text", whole(text))
    if kind != "tool-result":
        return block
    result = block["result"]
    value = result["value"]
    if result["type"] == "content":
        items = [_well_formed(item) if item["type"] == "text" else item for item in value]
        return {**block, "result": {**result, "value": items}}
    if not isinstance(value, str) or value.isascii() or (result["type"] == "error" and block.get("providerExecuted")):
        return block
    text = whole(value)
    return block if text is value else {**block, "result": {**result, "value": text}}


def _with(block: dict[str, Any], key: str, text: str) -> dict[str, Any]:
    return block if text is block[key] else {**block, key: text}


def _normalised(messages: list[PromptMessage], target: Target, lowered: Lowered) -> list[PromptMessage]:
    """The steps that normalise the prompt (docs/contract/wire.md#6.1.9.2b to #6.1.9.2f)."""
    package = package_of(target)
    model = target.model.lower()
    if package in SIGNED_BY:
        stateless = package == BEDROCK and not sends_unsigned_alone(lowered.client)
        messages = _without_empty(messages, package, stateless=stateless)
    rename = scrub(target)
    if rename is not None:
        _rename_calls(messages, rename)
    if wants_nine(target):
        return _with_done(messages, lowered.ends)
    field_name = target.capabilities.interleaved
    if "deepseek" in model:
        for message in messages:
            if message.role == "assistant" and not any(block["type"] == "reasoning" for block in message.blocks):
                message.blocks = [*message.blocks, {"type": "reasoning", "text": ""}]
                message.origins = [*message.origins, NOBODY]
        # Such a model behaves as if it had the field without configuration (docs/contract/wire.md#f12).
        if field_name is None and package == COMPATIBLE:
            field_name = "reasoning_content"
    if field_name and package != OPENROUTER:
        _interleave(messages, field_name)
    return messages


def _without_empty(messages: Iterable[PromptMessage], package: str, *, stateless: bool) -> list[PromptMessage]:
    """Empty texts, and reasoning with neither text nor provider state (docs/contract/wire.md#6.1.9.2b); messages left
    empty go too. ``stateless``: Bedrock's reasoning goes without state, whatever its text."""

    def wanted(block: dict[str, Any]) -> bool:
        if block["type"] == "text":
            return bool(block["text"] != "")
        if block["type"] == "reasoning":
            said = not stateless and not is_blank(block["text"])
            return said or has_state(package, block.get("providerMetadata"))
        return True

    kept = []
    for message in messages:
        message.keep(wanted)
        if message.blocks:
            kept.append(message)
    return kept


def _rename_calls(messages: Iterable[PromptMessage], rename: Callable[[str], str]) -> None:
    for message in messages:
        if any(block["type"] in ("tool-call", "tool-result") for block in message.blocks):
            message.blocks = [
                {**block, "id": rename(block["id"])} if block["type"] in ("tool-call", "tool-result") else block
                for block in message.blocks
            ]


def _with_done(messages: list[PromptMessage], ends: bool) -> list[PromptMessage]:
    """Such models refuse a user message right behind results, so the client puts an answer between
    (docs/contract/wire.md#6.1.9.2d)."""
    result: list[PromptMessage] = []
    for message in [*messages, None]:
        prompted = message.role == "user" if message is not None else not ends
        if prompted and result and result[-1].role == "tool":
            result.append(PromptMessage("assistant", [{"type": "text", "text": "Done."}], [NOBODY]))
        if message is not None:
            result.append(message)
    return result


def _interleave(messages: Iterable[PromptMessage], name: str) -> None:
    """Reasoning goes into a member of the message, also when there is none (docs/contract/wire.md#6.1.9.2f)."""
    for message in messages:
        if message.role == "assistant":
            message.fields[name] = "".join(block["text"] for block in message.blocks if block["type"] == "reasoning")
            message.keep(lambda block: block["type"] != "reasoning")


def _remapped(messages: list[PromptMessage], target: Target) -> list[PromptMessage]:
    """Metadata under the provider's id goes to the key that the package reads (docs/contract/wire.md#6.1.9.4)."""
    key = SDK_KEYS.get(package_of(target))
    provider = target.provider
    if key is None or key == provider:
        return messages
    for message in messages:
        if any(provider in block.get("providerMetadata", ()) for block in message.blocks):
            message.blocks = [_remap(block, provider, key) for block in message.blocks]
    return messages


def _remap(block: dict[str, Any], provider: str, key: str) -> dict[str, Any]:
    metadata = block.get("providerMetadata")
    if not metadata or provider not in metadata:
        return block
    others = {name: value for name, value in metadata.items() if name != provider}
    return {**block, "providerMetadata": {**others, key: metadata[provider]}}
