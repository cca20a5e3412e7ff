"""Transcripts are hostile: whatever they hold is shown as text."""

from __future__ import annotations

import base64
import json
from html.parser import HTMLParser

import pytest
from django.conf import settings
from django.test import Client

from sessions_app.models import Finding, Part, Session
from sessions_app.web.text import masked, plain
from tests.web.test_timeline import long_session

pytestmark = pytest.mark.django_db(transaction=True)

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"' {{ 7|add:7 }} {% url 'x' %}"
KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def hostile(db: None) -> Session:
    session = long_session(turns=2)
    Session.objects.filter(pk=session.pk).update(
        title=EVIL,
        directory=EVIL,
        health="blocked",
        reasons=[EVIL],
        row=json.dumps({"id": "ses_long", "title": EVIL}),
    )
    first, second, third, fourth = Part.objects.filter(session=session).order_by("position")
    for part, value in (
        (first, {"type": "text", "text": EVIL}),
        (
            second,
            {
                "type": "tool",
                "tool": EVIL,
                "callID": EVIL,
                "state": {"status": "completed", "input": {EVIL: EVIL}, "output": EVIL},
            },
        ),
        (third, {"type": EVIL, "x": EVIL}),
        (fourth, {"type": "text", "text": f"the key is {KEY} \x1b[31mred\x1b[0m \u202egnp.exe"}),
    ):
        Part.objects.filter(pk=part.pk).update(
            data=json.dumps(value),
            kind=value["type"],
            tool=value.get("tool", ""),
            call_id=value.get("callID", ""),
            status="completed" if "state" in value else "",
            stored_id=part.stored_id,
        )
    Finding.objects.create(
        session=session,
        key="x:1",
        rule=EVIL[:60],
        severity="blocked",
        safety="manual",
        parts=[first.stored_id],
        summary=EVIL,
        details={},
    )
    return session


def pages(session: Session) -> list[str]:
    parts = Part.objects.filter(session=session).order_by("position").values_list("pk", flat=True)
    tabs = ("", "findings/", "payload/", "raw/", "handback/", "details/", "repairs/")
    return [
        "/",
        "/sessions/",
        *(f"/sessions/{session.pk}/{tab}" for tab in tabs),
        *(f"/parts/{pk}/" for pk in parts),
        *(f"/parts/{pk}/body?show=raw" for pk in parts),
        f"/parts/{parts[1]}/body?show=output",
        f"/parts/{parts[1]}/body?show=input",
    ]


class Elements(HTMLParser):
    """What of a page a browser would run: scripts, and attributes that are handlers."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        if tag == "script" and not str(names.get("src", "")).startswith(f"/{settings.STATIC_URL.strip('/')}/"):
            self.found.append("script")
        self.found += [name for name in names if name.startswith("on")]
        self.found += [value for value in names.values() if value and value.strip().lower().startswith("javascript:")]


def test_the_parser_sees_what_would_run() -> None:
    assert Elements(EVIL).found == ["script", "onerror"]


def test_nothing_of_a_transcript_becomes_markup_on_any_page(alice: Client, hostile: Session) -> None:
    for path in pages(hostile):
        answer = alice.get(path)
        page = answer.html
        assert answer.status_code == 200, path
        assert Elements(page).found == [], path
        assert "<img src=x" not in page, path


def test_keys_are_masked_wherever_they_are_shown(alice: Client, hostile: Session) -> None:
    for path in pages(hostile):
        assert KEY not in alice.get(path).html, path
    assert "masked" in alice.get(f"/sessions/{hostile.pk}/").html


def test_terminal_colours_and_text_that_reads_backwards_are_made_harmless(alice: Client, hostile: Session) -> None:
    page = alice.get(f"/sessions/{hostile.pk}/").html

    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "red" in page


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("\x1b[1;31mbold\x1b[0m", "bold"),
        ("\x1b]0;title\x07text", "text"),
        ("a\x00b\ud800c", "a\ufffdb\ufffdc"),
        ("one\r\ntwo\tthree", "one\ntwo\tthree"),
    ],
)
def test_control_sequences_do_not_reach_the_page(stored: str, shown: str) -> None:
    assert plain(stored) == shown


@pytest.mark.parametrize(
    "secret",
    [
        KEY,
        "sk-proj-AAAAAAAAAAAAAAAAAAAAAAAA",
        "ghp_abcdefghijklmnopqrstuvwxyz012345",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
        "xoxb-123456789012-abcdefghij",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_key_is_masked_and_the_rest_stays(secret: str) -> None:
    text = masked(f"before {secret} after")

    assert secret not in text
    assert text.startswith("before ")
    assert text.endswith(" after")


@pytest.mark.parametrize(
    "text",
    [
        "task-list-of-the-whole-project",
        "sk-short",
        "risk-assessment-of-everything-here",
        "ses_22bb0071a001uVSTnCZfSC",
    ],
)
def test_ordinary_words_are_not_masked(text: str) -> None:
    assert masked(text) == text


def image(session: Session, mime: str, content: bytes) -> int:
    part = Part.objects.filter(session=session).order_by("position").first()
    url = f"data:{mime};base64,{base64.b64encode(content).decode()}"
    Part.objects.filter(pk=part.pk).update(
        kind="file", data=json.dumps({"type": "file", "mime": mime, "url": url, "filename": EVIL})
    )
    return part.pk


def test_an_image_is_shown_only_after_it_is_asked_for(alice: Client) -> None:
    session = long_session(turns=1)
    number = image(session, "image/png", b"\x89PNG\r\n\x1a\n" + b"0" * 40)

    timeline = alice.get(f"/sessions/{session.pk}/").html
    shown = alice.get(f"/parts/{number}/image/0", headers={"HX-Request": "true"}).html

    assert "<img" not in timeline
    assert f"/parts/{number}/image/0" in timeline
    assert '<img class="thumb" src="data:image/png;base64,' in shown


@pytest.mark.parametrize(
    ("mime", "content"),
    [
        ("image/svg+xml", b"<svg onload=alert(1)>"),
        ("image/png", b"<html>not a png"),
        ("image/png", b"\x89PNG" + b"0" * 9_000_000),
    ],
    ids=["markup", "a lie", "too large"],
)
def test_what_is_no_safe_image_is_refused_in_words(alice: Client, mime: str, content: bytes) -> None:
    session = long_session(turns=1)
    number = image(session, mime, content)

    answer = alice.get(f"/parts/{number}/image/0", headers={"HX-Request": "true"})

    assert answer.status_code == 200
    assert "<img" not in answer.html
