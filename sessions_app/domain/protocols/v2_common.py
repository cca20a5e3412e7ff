"""What the V2 client's protocol modules share (docs/contract/wire.md#6.3, July packages/llm): texts, media, system
updates, cache marks."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, NoReturn

from sessions_app.domain import jsjson
from sessions_app.domain.wire.lowered import CanonicalMessage, Lowered, LoweringError, Origin

type Part = dict[str, Any]
type CachePolicy = str | Mapping[str, Any]
"""``none``, ``auto``, or an object ``{messages?: latest-user-message | latest-assistant | {tail: n}, ttlSeconds?}``."""

IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MOVING: Final = frozenset(
    {f"video/{kind}" for kind in ("mp4", "webm", "quicktime")}
    | {f"audio/{kind}" for kind in ("wav", "mp3", "aiff", "aac", "ogg", "flac")}
)
ENCODED_LIMIT: Final = 28 * 1024 * 1024
DECODED_LIMIT: Final = 20 * 1024 * 1024
CACHE_BREAKPOINTS: Final = 4
"""Marks the providers accept in one request; further ones are left out."""
_LONG_TTL = 3600

_DATA_URL = re.compile(r"data:([^;,]+);base64,([A-Za-z0-9+/]*={0,2})\Z", re.DOTALL)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z")


class Media(NamedTuple):
    """Checked media: lower-case ``mime`` and canonical base64 ``data``."""

    mime: str
    data: str

    @property
    def url(self) -> str:
        """The media as a data URL."""
        return f"data:{self.mime};base64,{self.data}"


def refuse(words: str, origin: Origin | None = None) -> NoReturn:
    """The client's own error before any request is made."""
    raise LoweringError("InvalidRequest", words, origin)


def unsupported(route: str, role: str, kinds: tuple[str, ...], origin: Origin) -> NoReturn:
    """A part of a kind that the protocol cannot say in a message of ``role``."""
    listed = " and ".join(kinds) if len(kinds) < 3 else ", ".join(kinds[:-1]) + f", and {kinds[-1]}"
    refuse(f"{route} {role} messages only support {listed} content for now", origin)


def sendable(lowered: Lowered) -> list[tuple[CanonicalMessage, list[Origin]]]:
    """The canonical messages with their origins, without generation 3's effort updates, which these protocols cannot
    say."""
    return [
        (message, origins)
        for message, origins in zip(lowered.messages, lowered.origins, strict=True)
        if message["role"] != "system" or any(part["type"] != "effort" for part in message["content"])
    ]


def system_update(route: str, message: CanonicalMessage, origins: list[Origin]) -> str:
    """A system message in mid-conversation as visible user text, escaped so that it cannot close its wrapper."""
    lines = []
    for part, origin in zip(message["content"], origins, strict=True):
        if part["type"] != "text":
            unsupported(route, "system", ("text",), origin)
        lines.append(part["text"])
    text = "\n".join(lines).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<system-update>\n{text}\n</system-update>"


def result_text(result: Part) -> str:
    """A tool result that is no content list, as one string."""
    value = result["value"]
    if result["type"] == "text":
        return jsjson.string(value)
    if result["type"] == "error" and not (isinstance(value, (dict, list)) and _finite(value)):
        return jsjson.string(value)
    return jsjson.encode(value)


def _finite(value: Any) -> bool:
    """Whether JSON can say every number in ``value``; only an overflowing literal can give another
    (docs/contract/formats.md#b6)."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, float) and item in (float("inf"), float("-inf")):
            return False
    return True


def user_media(route: str, part: Part, accepted: frozenset[str], origin: Origin) -> Media:
    """A media part of a user message, in either generation's spelling, checked as the client checks it."""
    if "media" in part:
        source = part["media"]["source"]
        return checked_media(route, source["mediaType"], source["data"], accepted, origin)
    return checked_media(route, part["mediaType"], part["data"], accepted, origin)


def checked_media(route: str, kind: str, data: str, accepted: frozenset[str], origin: Origin) -> Media:
    """``data`` (base64 or a data URL) of media type ``kind``. Raises ``LoweringError`` with the client's words."""
    mime = kind.lower()
    if mime not in accepted:
        refuse(f"{route} does not support media type {kind}", origin)
    if data.startswith("data:"):
        matched = _DATA_URL.match(data)
        if matched is None:
            refuse(f"{route} media data URL must contain valid base64", origin)
        if matched[1].lower() != mime:
            refuse(f"{route} media type {kind} does not match data URL type {matched[1]}", origin)
        data = matched[2]
    if len(data) > ENCODED_LIMIT:
        refuse(f"{route} media exceeds the {ENCODED_LIMIT} byte encoded limit", origin)
    if not data or _BASE64.match(data) is None:
        refuse(f"{route} media must contain valid base64", origin)
    if len(data) // 4 * 3 - data[-2:].count("=") > DECODED_LIMIT:
        refuse(f"{route} media exceeds the {DECODED_LIMIT} byte decoded limit", origin)
    # Only the last group can hold bits beyond the last byte.
    if b64encode(b64decode(data[-4:])).decode() != data[-4:]:
        refuse(f"{route} media must contain canonical base64", origin)
    return Media(mime, data)


class CacheMarks:
    """Where a request carries cache breakpoints: on the last text (else the last part) of the chosen messages."""

    __slots__ = ("long", "places")

    def __init__(self, messages: Iterable[CanonicalMessage], policy: CachePolicy) -> None:
        self.places: dict[int, int] = {}
        self.long = False
        if policy == "auto":
            policy = {"messages": "latest-user-message"}
        if isinstance(policy, str):
            return
        self.long = policy.get("ttlSeconds", 0) >= _LONG_TTL
        listed = list(messages)
        for index in _chosen(listed, policy.get("messages"))[:CACHE_BREAKPOINTS]:
            content = listed[index]["content"]
            texts = [at for at, part in enumerate(content) if part["type"] == "text"]
            if content:
                self.places[index] = texts[-1] if texts else len(content) - 1

    def at(self, index: int) -> int:
        """The marked part of message ``index``, -1 where none is."""
        return self.places.get(index, -1)


def _chosen(messages: list[CanonicalMessage], strategy: Any) -> list[int]:
    if isinstance(strategy, Mapping):
        return list(range(max(0, len(messages) - int(strategy["tail"])), len(messages)))
    role = {"latest-user-message": "user", "latest-assistant": "assistant"}.get(strategy or "")
    found = [index for index, message in enumerate(messages) if message["role"] == role]
    return found[-1:]


def keyed_state(part: Part, key: str) -> Mapping[str, Any]:
    """The provider's own entry in a part's metadata, empty where there is none."""
    state = part.get("providerMetadata", {}).get(key)
    return state if isinstance(state, dict) else {}


def text_of(state: Mapping[str, Any], key: str) -> str | None:
    """A text member of provider state, None where it is none."""
    value = state.get(key)
    return value if isinstance(value, str) else None
