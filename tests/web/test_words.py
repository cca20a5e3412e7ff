"""No sentence names an id: pages say "bash call 2, turn 7". Ids stand in titles, copy buttons, Raw and Payload."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from sessions_app.domain.wish import Wish
from sessions_app.models import Finding, IgnoredFinding, Repair, RepairBatch, Session, Source
from sessions_app.services.actor import Actor
from sessions_app.services.bulk import Selection, bulk_start
from sessions_app.services.repair.apply import repair_apply
from sessions_app.tasks import job_enqueue
from tests.bulk.store import many
from tests.each import for_each
from tests.factories.corpus import NOW, attached

pytestmark = pytest.mark.django_db(transaction=True)

ID = re.compile(r"\b(?:msg|prt)_\w+")
COPIED = ("script", "code", "pre", "textarea", "option")
COPIED_CLASSES = {"mono", "diff"}
"""What is there to be copied, or is a row as it is stored."""
VOID = ("br", "hr", "img", "input", "link", "meta", "col", "source", "wbr")
NAMES = ("aria-label", "alt", "placeholder")
"""Attributes that are said."""
KINDS = {
    "dup_id_slow": 2, "abort_running": 1, "think_abort_mid_thinking": 1, "retry_text": 1, "compact_fail_400": 1,
    "seed_kimi_abort": 1, "kill_parallel": 1, "empty_text_anthropic": 1, "lone_surrogate": 1, "subagent_kill": 1,
    "v1_bad_state_chat": 1, "v1_unknown_part_chat": 1, "think_nosig_tool": 1, "image_bad_base64": 1, "clean": 1,
}  # fmt: skip


class Said(HTMLParser):
    """What a page says: its text and the names of its controls, but not what is there to be copied."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self._silent: list[str] = []
        """The elements around, from the outermost that is copied on."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.said += [str(given[name]) for name in NAMES if given.get(name)]
        if tag in VOID:
            return
        if self._silent or tag in COPIED or COPIED_CLASSES & set((given.get("class") or "").split()):
            self._silent.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._silent and tag == self._silent[-1]:
            self._silent.pop()

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.said.append(data)


def ids_said(page: str) -> list[str]:
    """Pieces of text with an id in them."""
    reader = Said()
    reader.feed(page)
    return sorted({" ".join(piece.split())[:160] for piece in reader.said if ID.search(piece)})


def told(found: dict[str, list[str]]) -> str:
    """Each piece once, with the first page that says it."""
    first = {piece: page for page, said in reversed(found.items()) for piece in said}
    return "\n".join(f"{page}: {piece}" for piece, page in sorted(first.items(), key=lambda item: item[1]))


@pytest.fixture
def store(tmp_path: Path, data_dir: Path) -> Source:
    return attached(many(tmp_path / "opencode.db", KINDS))


def test_ids_are_found_where_they_are_said() -> None:
    page = '<p>Two <b>msg_1a</b><br><code>msg_2 <i>x</i></code></p><a href="?at=prt_2" aria-label="Open prt_4">x</a>'
    assert ids_said(page) == ["Open prt_4", "msg_1a"]


def addresses(session: Session) -> list[str]:
    base = f"/sessions/{session.pk}"
    findings = [f"{base}/repair/?finding={finding.key}" for finding in session.findings.all()]
    tabs = (
        "/",
        "/findings/",
        "/provider/",
        "/repairs/",
        "/handback/",
        "/details/",
        "/relink/",
        "/?order=sent",
        "/?order=repaired",
    )
    faults = [f"{base}/?fault={number}" for number in range(1, len(findings) + 1)]
    views = [f"{base}/repair/{view}" for view in ("", "?safety=lossy", "?safety=lossy&view=conversation")]
    return [*(f"{base}{tab}" for tab in tabs), *faults, *findings, *views, f"/sessions/?peek={session.pk}"]


@for_each("kind", KINDS, one_in=6)
def test_no_page_of_a_session_says_an_id(kind: str, alice: Client, tmp_path: Path, data_dir: Path) -> None:
    source = attached(many(tmp_path / "opencode.db", {kind: KINDS[kind]}))
    found = {
        address: said
        for session in Session.objects.filter(source=source)
        for address in addresses(session)
        if (said := ids_said(alice.get(address).content.decode()))
    }
    assert not found, told(found)


def test_no_other_page_says_an_id(alice: Client, store: Source) -> None:
    sessions = list(Session.objects.filter(health="blocked", fate="safe"))
    repair_apply(session=sessions[0], wish=Wish(), actor=Actor("alice"), now=NOW)
    batch = bulk_start(
        selection=Selection(ids=tuple(one.pk for one in sessions[1:])), wish=Wish(), reason="", actor="alice",
        face="web", now=NOW,
    )  # fmt: skip
    job_enqueue(batch)
    finding = Finding.objects.exclude(parts=[])[0]
    IgnoredFinding.objects.create(
        session=finding.session, key=finding.key, rule=finding.rule, reason="known", actor="alice", created_at=NOW
    )
    repairs = list(Repair.objects.all())
    error = Finding.objects.filter(rule="last-call-refused")[:1]
    texts = [f"Duplicate value for 'tool_call_id' of {finding.parts[0]} in message[4]", *(one.summary for one in error)]
    pages = {text: alice.post("/locate/", {"error": text}, follow=True).content.decode() for text in texts}
    for address in (
        "/", "/sessions/", "/sessions/?health=blocked", "/bulk/?health=blocked", "/sources/", f"/sources/{store.pk}/",
        f"/sources/{store.pk}/store/", "/repairs/", "/help/", "/locate/", "/search/?q=echo",
        reverse("sessions_app:batch", args=[RepairBatch.objects.get().public_id]),
        *(f"/repairs/{repair.public_id}/" for repair in repairs),
        *(f"/sessions/{repair.session_id}/?outcome={repair.public_id}" for repair in repairs),
        *(f"/sessions/{repair.session_id}/repairs/" for repair in repairs),
        f"/sessions/{finding.session_id}/findings/",
    ):  # fmt: skip
        pages[address] = alice.get(address).content.decode()
    found = {name: said for name, page in pages.items() if (said := ids_said(page))}
    assert not found, told(found)
