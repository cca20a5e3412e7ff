"""What an image really is, read from the first bytes of its base64 text (A26 to A28, O12, B-rules on media).

Bounded: at most ``HEAD`` characters are decoded, so megabytes of pixels cost nothing. Truth is what the bytes say; a
payload that this module cannot name is reported as such, never guessed.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Final

HEAD = 64 * 1024
"""Base64 characters looked at. JPEG keeps its size behind metadata that is seldom longer than this."""

MIB = 1024 * 1024

IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The types of image that every provider takes."""
_MORE: Final[dict[str, frozenset[str]]] = {"gemini": frozenset({"image/heic", "image/heif"})}
_HEIC: Final = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1")


def takes_image(protocol: str, media_type: str) -> bool:
    """Whether a provider that speaks ``protocol`` takes images of this type (docs/contract/rules.md#2.3); an unknown
    protocol is any."""
    return media_type in IMAGES or media_type in _MORE.get(protocol, ())


_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}\Z")


@dataclass(frozen=True, slots=True)
class Sniffed:
    """``mime`` is "" for bytes of no known image or PDF type. ``width`` and ``height`` are pixels, 0 where not found.

    ``encoded`` is the length of the base64 text in characters, which is what Anthropic's limit counts; ``valid`` says
    that the text is base64 as far as it was looked at (alphabet over the whole text, padding at its end)."""

    mime: str
    width: int
    height: int
    encoded: int
    valid: bool

    @property
    def decoded(self) -> int:
        """Bytes after decoding, to within padding."""
        return self.encoded * 3 // 4


@dataclass(frozen=True, slots=True)
class DataUrl:
    """``data:MIME;base64,DATA`` taken apart; parameters other than base64 are dropped from ``mime``."""

    mime: str
    data: str


def data_url(url: str) -> DataUrl | None:
    """The parts of a data URL, None for any other URL or one without a comma."""
    if url[:5].lower() != "data:":
        return None
    head, comma, data = url[5:].partition(",")
    if not comma:
        return None
    return DataUrl(head.partition(";")[0].strip().lower(), data)


def sniff(data: str) -> Sniffed:
    """Real type and size of base64 text; never raises."""
    valid = len(data) % 4 == 0 and _BASE64.match(data) is not None
    head = data[: min(HEAD, len(data) - len(data) % 4)]
    try:
        blob = base64.b64decode(head, validate=True)
    except (binascii.Error, ValueError):
        return Sniffed("", 0, 0, len(data), valid=False)
    mime, width, height = _kind(blob)
    return Sniffed(mime, width, height, len(data), valid and bool(data))


def _kind(blob: bytes) -> tuple[str, int, int]:
    if blob.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png", _big(blob[16:20]), _big(blob[20:24])
    if blob.startswith(b"\xff\xd8\xff"):
        return "image/jpeg", *_jpeg_size(blob)
    if blob[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif", _little(blob[6:8]), _little(blob[8:10])
    if blob[:4] == b"RIFF" and blob[8:12] == b"WEBP":
        return "image/webp", *_webp_size(blob)
    if blob.startswith(b"%PDF-"):
        return "application/pdf", 0, 0
    if blob.startswith(b"BM"):
        return "image/bmp", 0, 0
    if blob[4:8] == b"ftyp" and blob[8:12] in _HEIC:
        return "image/heic", 0, 0
    if blob[:4] in (b"II*\x00", b"MM\x00*"):
        return "image/tiff", 0, 0
    return "", 0, 0


def _jpeg_size(blob: bytes) -> tuple[int, int]:
    """Width and height from the first start-of-frame segment."""
    at = 2
    while at + 9 <= len(blob):
        if blob[at] != 0xFF:
            return 0, 0
        marker = blob[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _big(blob[at + 7 : at + 9]), _big(blob[at + 5 : at + 7])
        if marker in (0x01, 0xD9) or 0xD0 <= marker <= 0xD8:
            at += 2
            continue
        length = _big(blob[at + 2 : at + 4])
        if length < 2:
            return 0, 0
        at += 2 + length
    return 0, 0


def _webp_size(blob: bytes) -> tuple[int, int]:
    kind = blob[12:16]
    if kind == b"VP8X" and len(blob) >= 30:
        return _little(blob[24:27]) + 1, _little(blob[27:30]) + 1
    if kind == b"VP8L" and len(blob) >= 25:
        bits = _little(blob[21:25])
        return (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
    if kind == b"VP8 " and len(blob) >= 30:
        return _little(blob[26:28]) & 0x3FFF, _little(blob[28:30]) & 0x3FFF
    return 0, 0


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
