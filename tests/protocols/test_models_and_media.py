"""The tables of models and the reading of image headers."""

from __future__ import annotations

import base64
import struct

import pytest

from sessions_app.domain.protocols.media import HEAD, data_url, sniff
from sessions_app.domain.wire.models import model_facts
from tests.protocols.histories import jpeg, png


@pytest.mark.parametrize(
    ("model", "prefill", "thinking"),
    [
        ("claude-3-5-sonnet-20241022", True, "manual"),
        ("claude-sonnet-4-20250514", True, "manual"),
        ("claude-opus-4-5", True, "manual"),
        ("anthropic/claude-opus-4.6", False, "both"),
        ("us.anthropic.claude-opus-4-7-v1:0", False, "adaptive"),
        ("claude-opus-4-8", False, "adaptive"),
        ("claude-sonnet-5", False, "adaptive"),
        ("claude-sonnet-5-5", False, "adaptive"),
        ("claude-x", None, ""),
    ],
)
def test_claude_models_are_told_apart_under_every_spelling(model: str, prefill: bool | None, thinking: str) -> None:
    facts = model_facts(model)
    assert (facts.family, facts.prefill, facts.thinking) == ("claude", prefill, thinking)
    assert facts.known is (prefill is not None)


def test_newer_lines_differ_as_documented() -> None:
    assert model_facts("claude-opus-4-7").mid_system is False
    assert model_facts("claude-opus-4-8").mid_system is True
    assert model_facts("claude-fable-5").always_thinks
    assert not model_facts("claude-fable-5").prefix_bound
    assert model_facts("claude-fable-5-1").prefix_bound
    assert not model_facts("claude-fable-5.1").forced_tools
    assert model_facts("claude-fable-5.2").forced_tools


@pytest.mark.parametrize(
    ("model", "signed", "tail"),
    [
        ("gemini-2.5-pro", False, True),
        ("gemini-3-x", True, True),
        ("gemini-3.5-pro", True, True),
        ("gemini-3.6-flash", True, False),
        ("gemini-4", True, False),
    ],
)
def test_gemini_lines_differ_as_documented(model: str, signed: bool, tail: bool) -> None:
    assert (model_facts(model).signed_calls, model_facts(model).model_tail) == (signed, tail)


def test_a_model_nobody_knows_has_no_family() -> None:
    assert model_facts("fake-1").family == ""
    assert not model_facts("fake-1").known
    assert model_facts("o3-mini").completion_tokens_only
    assert not model_facts("proto3-large").completion_tokens_only


def b64(blob: bytes) -> str:
    return base64.b64encode(blob).decode()


GIF = b64(b"GIF89a" + struct.pack("<HH", 30, 40) + b"\0" * 8)
VP8X = b64(b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + (8999).to_bytes(3, "little") + (9).to_bytes(3, "little"))
VP8L = b64(b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 99 | (49 << 14)) + b"\0" * 8)
VP8 = b64(b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 320, 200) + b"\0" * 8)


@pytest.mark.parametrize(
    ("data", "mime", "size"),
    [
        (png(640, 480), "image/png", (640, 480)),
        (jpeg(1024, 768), "image/jpeg", (1024, 768)),
        (GIF, "image/gif", (30, 40)),
        (VP8X, "image/webp", (9000, 10)),
        (VP8L, "image/webp", (100, 50)),
        (VP8, "image/webp", (320, 200)),
        (b64(b"%PDF-1.7\n..."), "application/pdf", (0, 0)),
        (b64(b"BM......"), "image/bmp", (0, 0)),
        (b64(b"II*\0...."), "image/tiff", (0, 0)),
        (b64(b"plain text, no image"), "", (0, 0)),
    ],
)
def test_type_and_size_come_from_the_bytes(data: str, mime: str, size: tuple[int, int]) -> None:
    seen = sniff(data)
    assert (seen.mime, (seen.width, seen.height), seen.valid) == (mime, size, True)
    assert seen.encoded == len(data)


@pytest.mark.parametrize("data", ["", "%89PNG", "abc", "a b=", png() + "\n", png()[:-4] + "===="])
def test_what_is_no_base64_is_no_image(data: str) -> None:
    assert not sniff(data).valid


def test_cut_headers_give_no_size_and_no_error() -> None:
    for whole in (png(5, 5), jpeg(5, 5), GIF, VP8X, VP8L, VP8):
        blob = base64.b64decode(whole)
        for length in range(len(blob)):
            sniff(b64(blob[:length]))


def test_only_the_head_of_a_large_image_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []
    original = base64.b64decode

    def watched(data: str, validate: bool = False) -> bytes:
        decoded.append(len(data))
        return original(data, validate=validate)

    monkeypatch.setattr("sessions_app.domain.protocols.media.base64.b64decode", watched)
    assert sniff(png(10, 20, size=8_000_000)).height == 20
    assert decoded == [HEAD]


def test_a_data_url_comes_apart() -> None:
    parts = data_url("data:Image/PNG;charset=x;base64,AAAA")
    assert parts is not None and (parts.mime, parts.data) == ("image/png", "AAAA")
    assert data_url("https://example.invalid/a.png") is None
    assert data_url("data:image/png") is None
