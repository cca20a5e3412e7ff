"""No page says that a provider accepts what it refused at the last call."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.test import Client

from sessions_app.models import Finding, Session
from sessions_app.services.ignoring import finding_ignore
from tests.factories.corpus import attached
from tests.paths import REPORTS

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
WORDS = "Invalid `signature` in `thinking` block"
RECORDED = sorted(path.name for path in REPORTS.glob("recorded-*.json"))


def stored(name: str, folder: Path) -> Session:
    path = Path(shutil.copyfile(REPORTS / name, folder / name))
    session: Session = Session.objects.get(source=attached(path))
    return session


@pytest.mark.parametrize("name", RECORDED)
def test_the_first_sentence_is_what_the_provider_said(alice: Client, data_dir: Path, tmp_path: Path, name: str) -> None:
    session = stored(name, tmp_path)
    page = alice.get(f"/sessions/{session.pk}/").html
    sentence = page.partition('class="head-sentence"')[2].partition("</p>")[0]
    assert "refused the last call" in sentence and "accepts the next message" not in page
    assert session.rejected_by[0] and session.health != "healthy"


def test_every_tab_says_so_of_the_own_provider(alice: Client, data_dir: Path, tmp_path: Path) -> None:
    session = stored("recorded-refusal-signature.json", tmp_path)
    findings = alice.get(f"/sessions/{session.pk}/findings/").html
    payload = alice.get(f"/sessions/{session.pk}/payload/").html
    elsewhere = alice.get(f"/sessions/{session.pk}/payload/?protocol=openai-chat").html
    assert findings.count("Refused the last call") >= 2 and WORDS in findings
    assert "Refused at the last call" in payload and WORDS in payload
    assert "Refused at the last call" not in elsewhere


def test_a_preview_says_what_becomes_of_the_refusal(alice: Client, data_dir: Path, tmp_path: Path) -> None:
    session = stored("recorded-refusal-signature.json", tmp_path)
    safe = alice.get(f"/sessions/{session.pk}/repair/").html
    lossy = alice.get(f"/sessions/{session.pk}/repair/?safety=lossy").html
    assert "The session stays blocked." in safe and "The session stays blocked." not in lossy


def test_an_ignored_refusal_is_said_no_more(alice: Client, data_dir: Path, tmp_path: Path) -> None:
    session = stored("recorded-refusal-orphan.json", tmp_path)
    finding = Finding.objects.get(session=session, rule="last-call-refused")
    finding_ignore(session=session, key=finding.key, reason="known", until=None, actor="alice", now=NOW)
    assert "Anthropic Messages accepts the next message" in alice.get(f"/sessions/{session.pk}/").html
