"""Ignoring findings, and looking behind a mask: both said and kept in the audit trail."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from django.test import Client

from sessions_app.models import AuditEntry, Finding, IgnoredFinding, Part, Session
from tests.factories import models as factories

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "sk-" + "ant-" + "a1B2c3D4" * 4


def finding_of(session: Session) -> Finding:
    return Finding.objects.get(session=session, rule="duplicate-call-id-in-message")


def test_an_ignored_finding_is_said_with_its_reason_and_health_stays(alice: Client, blocked: Session) -> None:
    key = finding_of(blocked).key

    alice.post(f"/sessions/{blocked.pk}/ignore/", {"finding": key, "reason": "the vendor <b>knows</b>"})
    page = alice.get(f"/sessions/{blocked.pk}/").html

    assert "1 ignored" in page
    assert "Ignored by alice: the vendor &lt;b&gt;knows&lt;/b&gt;" in page
    assert "Apply" not in page.partition('id="finding"')[2]
    assert Session.objects.get(pk=blocked.pk).health == "blocked"
    entry = AuditEntry.objects.filter(action="finding.ignored").get()
    assert entry.sentence.startswith("alice chose to ignore duplicate-call-id-in-message in ses_")


def test_the_bar_says_that_it_is_ignored_and_takes_it_back(alice: Client, blocked: Session) -> None:
    key, here = finding_of(blocked).key, f"/sessions/{blocked.pk}/?fault=1"

    page = alice.post(
        f"/sessions/{blocked.pk}/ignore/", {"finding": key, "reason": "known", "next": here}, follow=True
    ).html
    bar = page.partition('id="outcome"')[2]

    assert "Ignored: Two tool calls share one id, turn 1." in bar and "Stop ignoring" in bar
    alice.post(f"/sessions/{blocked.pk}/mind/", {"finding": key})
    assert 'id="outcome"' not in alice.get(f"/sessions/{blocked.pk}/?outcome=ignored:{key}").html


def test_it_outlives_a_scan_and_can_be_taken_back(alice: Client, blocked: Session) -> None:
    key = finding_of(blocked).key
    alice.post(f"/sessions/{blocked.pk}/ignore/", {"finding": key, "reason": "known"})

    alice.post(f"/sessions/{blocked.pk}/scan/")
    after_scan = alice.get(f"/sessions/{blocked.pk}/").html
    alice.post(f"/sessions/{blocked.pk}/mind/", {"finding": key})

    assert "1 ignored" in after_scan
    assert "1 ignored" not in alice.get(f"/sessions/{blocked.pk}/").html
    assert AuditEntry.objects.filter(action="finding.minded").exists()


def test_until_a_day_means_until_that_day(alice: Client, blocked: Session) -> None:
    key = finding_of(blocked).key
    today = dt.datetime.now(tz=dt.UTC).date()
    alice.post(f"/sessions/{blocked.pk}/ignore/", {"finding": key, "reason": "known", "until": today.isoformat()})
    assert "1 ignored" in alice.get(f"/sessions/{blocked.pk}/").html

    IgnoredFinding.objects.update(until=today - dt.timedelta(days=1))

    assert "1 ignored" not in alice.get(f"/sessions/{blocked.pk}/").html


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"reason": " "}, "Say why"),
        ({"reason": "x", "until": "someday"}, "no date"),
        ({"reason": "x", "until": "2001-01-01"}, "over already"),
        ({"reason": "x", "finding": "gone"}, "is gone"),
    ],
)
def test_what_cannot_be_ignored_is_refused_in_words(
    alice: Client, blocked: Session, sent: dict[str, str], words: str
) -> None:
    answer = alice.post(f"/sessions/{blocked.pk}/ignore/", {"finding": finding_of(blocked).key} | sent, follow=True)

    assert words in answer.html
    assert not IgnoredFinding.objects.exists()


@pytest.fixture
def secret(db: None) -> Part:
    session = factories.session(factories.source(), "ses_secret", dialect="opencode-v1")
    data = json.dumps({"type": "tool", "state": {"output": f"key {KEY} <b>", "input": {"token": KEY, "x": "<b>"}}})
    return Part.objects.create(
        session=session, message_stored_id="m", stored_id="prt_secret", position=0, kind="tool", data=data
    )


@pytest.mark.parametrize("show", ["output", "input", "raw"])
def test_a_mask_is_lifted_only_on_request_and_who_looked_is_kept(alice: Client, secret: Part, show: str) -> None:
    hidden = alice.get(f"/parts/{secret.pk}/body?show={show}").html
    assert KEY not in hidden
    assert "What looks like a key is masked" in hidden
    assert not AuditEntry.objects.filter(action="secret.revealed").exists()

    shown = alice.post(f"/parts/{secret.pk}/reveal", {"show": show})

    assert KEY in shown.html
    assert "<b>" not in shown.html
    assert shown["cache-control"] == "no-store"
    entry = AuditEntry.objects.get(action="secret.revealed")
    assert entry.sentence == "alice looked at a masked value in ses_secret"
    assert KEY not in json.dumps(entry.data)


def test_who_may_only_look_is_not_offered_what_is_masked(victor: Client, secret: Part) -> None:
    assert "audit trail" not in victor.get(f"/parts/{secret.pk}/body?show=output").html
    assert victor.post(f"/parts/{secret.pk}/reveal", {"show": "output"}).status_code == 403
