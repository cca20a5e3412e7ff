"""Chat messages of ``@openrouter/ai-sdk-provider`` (docs/contract/wire.md#6.9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from sessions_app.domain import jsjson
from sessions_app.domain.protocols.openai_chat.v1_compatible import Compatible, Json, joined
from sessions_app.domain.protocols.v1_prompt import PromptMessage, image, own, said
from sessions_app.domain.wire.lowered import LoweringError, Origin
from sessions_app.domain.wire.target import Target

_AUDIO: Final = {
    "mpeg": "mp3",
    "mp3": "mp3",
    "x-wav": "wav",
    "wave": "wav",
    "wav": "wav",
    "ogg": "ogg",
    "vorbis": "ogg",
    "aac": "aac",
    "x-aac": "aac",
    "m4a": "m4a",
    "x-m4a": "m4a",
    "mp4": "m4a",
    "aiff": "aiff",
    "x-aiff": "aiff",
    "flac": "flac",
    "x-flac": "flac",
    "pcm16": "pcm16",
    "pcm24": "pcm24",
}
_FORMATS: Final = (
    "unknown",
    "openai-responses-v1",
    "azure-openai-responses-v1",
    "xai-responses-v1",
    "anthropic-claude-v1",
    "google-gemini-v1",
)
_SIGNED: Final = ("anthropic-claude-v1", "google-gemini-v1")
_PUNCTUATION: Final = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"


class OpenRouter(Compatible):
    """Details of reasoning go back, each once in a request; keys of arguments are sorted; results hold media."""

    def __init__(self, target: Target, prompt: Sequence[PromptMessage]) -> None:
        super().__init__(target, prompt)
        self.known: set[str] = set()

    def user(self, message: PromptMessage, place: int) -> Json:
        # A cache mark, which Claude's last two messages have (docs/contract/wire.md#6.1.9.3), makes a list of one text.
        marked = any(name in self.target.model for name in ("anthropic", "claude")) and place >= len(self.prompt) - 2
        return {"role": "user", "content": self.parts(message)} if marked else super().user(message, place)

    def assistant(self, message: PromptMessage, place: int) -> Json:
        result: Json = {"role": "assistant", "content": joined("text", message.blocks)}
        stored = _details(message)
        if stored is not None:
            details = [detail for detail in stored if self._is_sent(detail)]
            thought = joined("reasoning", message.blocks)
            if thought and details:
                result["reasoning"] = thought
            result["reasoning_details"] = details
        return self.with_calls(result, message)

    def _is_sent(self, detail: Json) -> bool:
        if detail["type"] == "reasoning.text" and not detail.get("signature"):
            kind = detail.get("format")
            if kind is None or kind in _SIGNED:
                return False
        key = _key(detail)
        if key is None or key in self.known:
            return False
        self.known.add(key)
        return True

    def call(self, block: Json) -> Json:
        function = {"name": block["name"]}
        if "input" in block:
            function["arguments"] = jsjson.encode(_sorted(block["input"]))
        return {"id": block["id"], "type": "function", "function": function}

    def tool(self, block: Json) -> Json:
        result = block["result"]
        content = [_item(item) for item in result["value"]] if result["type"] == "content" else said(block)
        return {"role": "tool", "tool_call_id": block["id"], "content": content, "name": block["name"]}

    def file(self, block: Json, origin: Origin, index: int) -> Json:
        media_type = block["mediaType"]
        kind = media_type.partition("/")[0]
        if kind == "image":
            return {"type": "image_url", "image_url": {"url": _address(block)}}
        if kind == "video":
            return {"type": "video_url", "video_url": {"url": _address(block)}}
        if kind == "audio":
            name = _AUDIO.get(media_type.removeprefix("audio/"))
            if name is None:
                raise LoweringError("unsupported-file", f'Unsupported audio format: "{media_type}"', origin)
            return {"type": "input_audio", "input_audio": {"data": block.get("data", ""), "format": name}}
        return {"type": "file", "file": {"filename": block.get("filename") or "", "file_data": _address(block)}}


def _address(block: Json) -> str:
    """Unlike elsewhere, ``image/*`` stays as it is."""
    return image(block) if "url" in block else f"data:{block['mediaType']};base64,{block['data']}"


def _item(item: Json) -> Json:
    if item["type"] == "text":
        return {"type": "text", "text": item["text"]}
    data = item["uri"].partition(",")[2]
    url = f"data:{item['mime']};base64,{data}"
    kind, _, name = item["mime"].partition("/")
    if kind in ("image", "video"):
        return {"type": f"{kind}_url", f"{kind}_url": {"url": url}}
    if kind == "audio" and name in _AUDIO:
        return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO[name]}}
    return {"type": "file", "file": {"filename": "", "file_data": url}}


def _details(message: PromptMessage) -> list[Json] | None:
    """The details beside the first call that has any, else beside the first reasoning."""
    for kind in ("tool-call", "reasoning"):
        for block in message.blocks:
            if block["type"] == kind and (found := list(_valid(own(block, "openrouter").get("reasoning_details")))):
                return found
    return None


def _valid(details: Any) -> Iterator[Json]:
    """Details of a kind that is known; others are dropped."""
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and detail.get("format") in (None, *_FORMATS):
            match detail:
                case {"type": "reasoning.summary", "summary": str()} | {"type": "reasoning.encrypted", "data": str()}:
                    yield detail
                case {"type": "reasoning.text"}:
                    yield detail


def _key(detail: Json) -> str | None:
    """What makes a detail the same as one before it."""
    match detail["type"]:
        case "reasoning.summary":
            return str(detail["summary"])
        case "reasoning.encrypted":
            return str(detail.get("id") or detail["data"])
    key = detail.get("text") or detail.get("signature")
    return str(key) if key else None


def _sorted(value: Any) -> Any:
    """``value`` with the keys of its objects as JavaScript's ``localeCompare`` puts them, and as its objects keep them;
    iterative, since nesting is the sender's choice."""
    root = [value]
    stack: list[tuple[Any, Any]] = [(root, 0)]
    while stack:
        holder, at = stack.pop()
        found = holder[at]
        if isinstance(found, dict):
            holder[at] = {key: found[key] for key in sorted(found, key=_collation) if key != "__proto__"}
            stack += [(holder[at], key) for key in holder[at]]
        elif isinstance(found, list):
            holder[at] = list(found)
            stack += [(holder[at], index) for index in range(len(found))]
    return jsjson.to_js(root[0])


def _collation(key: str) -> tuple[list[int], list[bool]]:
    """Punctuation before digits before letters; a small letter before its capital where nothing else differs. Exact
    for ASCII."""
    return [_weight(char) for char in key], [char.isupper() for char in key]


def _weight(char: str) -> int:
    if char in _PUNCTUATION:
        return _PUNCTUATION.index(char)
    return 100 + ord(char.lower())
