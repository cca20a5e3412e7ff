"""Texts made unreadable while everything the rules look at stays: length, white space, punctuation, equality, what
parses and what does not.

Each letter and digit is replaced by another of its kind, drawn from a keyed hash of the whole text. Equal texts stay
equal, different ones different; nothing of the words can be computed back without the key.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import re
from collections.abc import Iterator
from typing import Any

from sessions_app.domain import jsjson
from sessions_app.domain.errorwords import vocabulary
from sessions_app.domain.protocols.media import data_url
from sessions_app.domain.secrets import SECRET

_LOWER = "abcdefghijklmnopqrstuvwxyz"
_UPPER = _LOWER.upper()
_TWO_BYTES = "àáâãäåæçèéêëìíîïñòóôõöøùúûüýþÿ"
_THREE_BYTES = "".join(chr(0x4E00 + index) for index in range(64))
_FOUR_BYTES = "".join(chr(0x20000 + index) for index in range(64))
_DIGITS = "0123456789"

_LITERALS = frozenset({"true", "false", "null", ""})
_TELLTALES = re.compile(
    r"(</?arg_(?:key|value)>|Tool execution aborted|Tool execution was interrupted|The operation was aborted"
    r"|prompt is too long|context window|context_length_exceeded|Bad"
    r" Request|\[?system\]?:|<\|?/?(?:system|assistant|user|im_start|im_end)\|?>)",
    re.IGNORECASE,
)
"""Fixed words of clients, providers and templates that rules look for; nobody's own text."""
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_PERCENT = re.compile(r"(%[0-9A-Fa-f]{2})")
_CHUNK = re.compile(r"[^\s'\"`,()\[\]{}]+")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_POSITION = 3
"""Digits of a position in a request, or of an HTTP status."""
_HEAD = 64
_AT_ONCE = 100_000
"""Letters that are masked at once: each is a string of its own meanwhile."""
_ADDRESS = re.compile(
    r"[A-Za-z0-9._%+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}"
    r"|(?<![0-9.])(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})(?:\.(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})){3}(?![0-9.])"
    r"|(?<![0-9A-Za-z:])(?=[0-9A-Fa-f:]*::|(?:[0-9A-Fa-f]{1,4}:){7})"
    r"[0-9A-Fa-f]{1,4}(?:::?[0-9A-Fa-f]{1,4}){1,7}(?![0-9A-Za-z:])"
)
"""An e-mail address, an IPv4 or an IPv6 address: names of tools and call ids that people's plugins made of them."""


class Masker:
    """Masks for one bundle. ``key`` is 32 bytes or fewer; the same key gives the same masks. ``ids`` are those of the
    session, which are kept."""

    def __init__(self, key: bytes, ids: frozenset[str] = frozenset()) -> None:
        self._key = key
        self._ids = ids

    def text(self, value: str) -> str:
        """A text of the same shape. JSON in it stays JSON, with its own texts masked."""
        if value in _LITERALS:
            return value
        if value[:5].lower() == "data:":
            return self.url(value)
        if value.lstrip()[:1] in ("{", "["):
            try:
                parsed = jsjson.loads(value)
            except (ValueError, RecursionError):
                pass
            else:
                return jsjson.dumps(self.said(parsed))
        if _NUMBER.fullmatch(value):
            return value[: len(value) - len(value.lstrip("-")) + 1] + self.letters(value.lstrip("-")[1:])
        pieces = _TELLTALES.split(value)
        return "".join(piece if index % 2 else self.letters(piece) for index, piece in enumerate(pieces))

    def letters(self, value: str) -> str:
        """Letter for letter and digit for digit; everything else stays."""
        stream = hashlib.shake_128(self._key + value.encode("utf-8", "surrogatepass")).digest(len(value))
        starts = range(0, len(value), _AT_ONCE)
        return "".join(_others(value[at : at + _AT_ONCE], stream[at : at + _AT_ONCE]) for at in starts)

    def said(self, value: Any) -> Any:
        """What a model or a tool said, as JSON: every text, number of four digits and more, and odd key masked."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.said(item) for item in value]
        if isinstance(value, dict):
            return {self.key(key): self.said(item) for key, item in value.items()}
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) >= 1000:
            return self._number(value)
        return value

    def answered(self, value: Any) -> Any:
        """What a provider answered, as JSON. Its own words, positions and the session's ids stay, since findings are
        read from them; all else is masked, as a provider may quote what was said."""
        if isinstance(value, dict):
            return {self.key(key): self.answered(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.answered(item) for item in value]
        if not isinstance(value, str):
            return value
        if value.lstrip()[:1] in ("{", "["):
            with contextlib.suppress(ValueError, RecursionError):
                return jsjson.dumps(self.answered(jsjson.loads(value)))
        return _CHUNK.sub(self._chunk, value)

    def _chunk(self, match: re.Match[str]) -> str:
        text = match[0]
        if text.rstrip(".:;") in self._ids:
            return self.unless_secret(text)
        return _WORD.sub(lambda word: word[0] if self._is_theirs(word[0]) else self.letters(word[0]), text)

    @staticmethod
    def _is_theirs(word: str) -> bool:
        return word.lower() in vocabulary() or (word.isdecimal() and len(word) <= _POSITION)

    def key(self, name: str) -> str:
        """The name of a member: kept where it is a plain identifier, as schemas have."""
        if not re.fullmatch(r"[A-Za-z_$][A-Za-z0-9_$.-]{0,63}", name):
            return self.text(name)
        return self.unless_secret(name)

    def unless_secret(self, value: str) -> str:
        """A name that is kept, as it is, unless it looks like somebody's key, or holds an e-mail or IP address."""
        return self.letters(value) if SECRET.search(value) or _ADDRESS.search(value) else value

    def path(self, value: str) -> str:
        """A path, folder by folder, so that what lay in a folder still does."""
        return "/".join(self.letters(piece) for piece in value.split("/"))

    def url(self, value: str) -> str:
        """The scheme, and of a data URL the type; what it holds is hollowed out."""
        if data_url(value) is None:
            scheme, colon, rest = value.partition(":")
            plain = bool(colon) and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme) is not None
            if not colon and len(value) % 4 == 0 and _BASE64.fullmatch(value):
                return self.media(value, "")
            return f"{scheme}:{self._escaped(rest)}" if plain else self._escaped(value)
        head, _, payload = value.partition(",")
        mime, *parameters = head[5:].split(";")
        if "base64" in (parameter.strip().lower() for parameter in parameters):
            return f"{head},{self.media(payload, mime.strip().lower())}"
        return f"{head},{self.letters(payload)}"

    def _escaped(self, value: str) -> str:
        """Letters of an address; its percent escapes stay what they are."""
        pieces = _PERCENT.split(value)
        return "".join(piece if index % 2 else self.letters(piece) for index, piece in enumerate(pieces))

    def media(self, payload: str, mime: str) -> str:
        """Base64 of the same length, type and pixel size with other bytes; what is no base64 stays none."""
        try:
            blob = base64.b64decode(payload, validate=True)
        except (binascii.Error, ValueError):
            return payload[:_HEAD] + self.letters(payload[_HEAD:])
        if mime.startswith("text/"):
            with contextlib.suppress(UnicodeError):
                blob = self.text(blob.decode("utf-8")).encode("utf-8")
            return base64.b64encode(blob).decode()
        hollow = bytearray(hashlib.shake_128(self._key + blob).digest(len(blob)))
        for start, end in _structure(blob):
            hollow[start:end] = blob[start:end]
        masked = base64.b64encode(bytes(hollow)).decode()
        # Spare bits in the last group make base64 that some providers refuse; they stay.
        canonical = base64.b64encode(blob).decode() == payload
        return masked if canonical else masked[:-4] + payload[-4:]

    def _number(self, value: float) -> float:
        text = repr(value)
        masked = self.letters(text)
        if any(letter in text for letter in "en"):  # 1e300, inf, nan: no digits of anybody's
            return value
        first = next(index for index, letter in enumerate(masked) if letter.isdigit())
        masked = masked[:first] + text[first] + masked[first + 1 :]
        return type(value)(masked)


def _others(letters: str, stream: bytes) -> str:
    return "".join(map(_other, letters, stream))


def _other(letter: str, byte: int) -> str:
    if "a" <= letter <= "z":
        return _LOWER[byte % 26]
    if "A" <= letter <= "Z":
        return _UPPER[byte % 26]
    if "0" <= letter <= "9":
        return _DIGITS[byte % 10]
    if letter < "\x80" or not letter.isalnum():
        return letter
    alphabet = _TWO_BYTES if letter < "\u0800" else _THREE_BYTES if letter < "\U00010000" else _FOUR_BYTES
    return alphabet[byte % len(alphabet)]


def _structure(blob: bytes) -> Iterator[tuple[int, int]]:
    """The bytes that say what an image is and how many pixels it has."""
    if not blob.startswith(b"\xff\xd8"):
        known = (b"\x89PNG", b"GIF8", b"RIFF", b"%PDF-", b"BM", b"II*", b"MM\x00")
        yield (
            0,
            (
                (33 if blob.startswith(b"\x89PNG") else 30 if blob.startswith(b"RIFF") else 12)
                if blob.startswith(known)
                else 0
            ),
        )
        return
    yield 0, 2
    at = 2
    while at + 4 <= len(blob) and blob[at] == 0xFF:
        marker = blob[at + 1]
        if marker == 0xFF or marker == 0x01 or 0xD0 <= marker <= 0xD9:
            yield at, at + 2
            at += 1 if marker == 0xFF else 2
            continue
        frame = 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC)
        yield at, at + (9 if frame else 4)
        if frame or marker == 0xDA:
            return
        at += 2 + max(2, int.from_bytes(blob[at + 2 : at + 4], "big"))
