"""The provider tab: host and size first, one click sends, answers and summaries stay."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from sessions_app.models import Compaction, Probe, Repair, Session
from tests.api.test_engine import SUMMARY
from tests.factories.corpus import session_of
from tests.providers.scripted import scripted
from tests.services.test_probing import ACCEPTED, place, refused  # noqa: F401  a fixture

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def session(tmp_path: Path, data_dir: Path, db: None) -> Session:
    return session_of("dup_id_slow", tmp_path)


def page(client: Client, session: Session, query: str = "") -> str:
    answer = client.get(f"/sessions/{session.pk}/provider/{query}")
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def field(html: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', html)
    assert found is not None
    return found[1]


def test_host_and_size_are_shown_and_nothing_is_sent_before_the_click(
    alice: Client,
    session: Session,
    place: Any,  # noqa: F811
) -> None:
    with scripted(ACCEPTED) as served:
        place(f"{served.url}/v1")
        html = page(alice, session)
        host = served.url.removeprefix("http://")
        assert host in html and "bytes)" in html
        assert served.requests == []
        shown = alice.get(f"/sessions/{session.pk}/provider/payload").content
        sent = alice.post(f"/sessions/{session.pk}/provider/probe", {"digest": field(html, "digest")})

    assert sent.status_code == 302
    assert served.requests[0][2] == shown
    after = page(alice, session)
    assert "Accepted" in after and "$3.0000" in after


def test_a_refusal_shows_the_providers_words_and_the_way_to_the_part(
    alice: Client,
    session: Session,
    place: Any,  # noqa: F811
) -> None:
    words = session.verdicts.get(own=True).violations[0]
    with scripted(refused(words["error"])) as served:
        place(f"{served.url}/v1")
        html = page(alice, session)
        alice.post(f"/sessions/{session.pk}/provider/probe", {"digest": field(html, "digest")})

    after = page(alice, session)
    assert words["error"] in after
    assert "Show in the timeline" in after


def test_without_the_digest_of_what_was_shown_nothing_is_sent(
    alice: Client,
    session: Session,
    place: Any,  # noqa: F811
) -> None:
    with scripted() as served:
        place(f"{served.url}/v1")
        answers = [
            alice.post(f"/sessions/{session.pk}/provider/probe", {"digest": digest}).status_code
            for digest in ("", "f" * 64)
        ]

    assert answers == [409, 409]
    assert served.requests == [] and not Probe.objects.exists()


def test_a_session_without_an_endpoint_says_not_probeable(alice: Client, session: Session) -> None:
    html = page(alice, session)

    assert "Not probeable: no endpoint is configured" in html
    assert 'name="digest"' not in html


def test_a_summary_is_made_looked_at_written_and_undone(
    alice: Client,
    session: Session,
    place: Any,  # noqa: F811
) -> None:
    before = session.rows_hash
    with scripted(SUMMARY) as served:
        place(f"{served.url}/v1")
        assert "characters of conversation" in page(alice, session)
        assert alice.post(f"/sessions/{session.pk}/provider/compact").status_code == 302
    job = Compaction.objects.get()
    html = page(alice, session)
    assert "List files." in html and "Ready to be written" in html
    session.refresh_from_db()
    assert session.rows_hash == before

    wrong = alice.post(f"/sessions/{session.pk}/provider/apply", {"job": "0"})
    done = alice.post(f"/sessions/{session.pk}/provider/apply", {"job": str(job.pk)})

    assert (wrong.status_code, done.status_code) == (404, 302)
    repair = Repair.objects.get()
    assert done["location"] == f"/sessions/{session.pk}/?outcome={repair.public_id}"
    told = alice.get(done["location"]).content.decode()
    assert "A summary is written, from which the client goes on." in told
    assert f'action="/repairs/{repair.public_id}/undo/"' in told
    alice.post(f"/repairs/{repair.public_id}/undo/")
    session.refresh_from_db()
    assert session.rows_hash == before


def test_progress_is_a_region_that_stops_asking_when_it_is_over(alice: Client, session: Session) -> None:
    job = Compaction.objects.create(
        session=session,
        rows_hash="x",
        host="h",
        total=100,
        done=40,
        chunk=10,
        created_at="2026-11-30T12:00:00Z",
    )
    asked = {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": "summary"}

    going = alice.get(f"/sessions/{session.pk}/provider/", **asked)
    alice.post(f"/sessions/{session.pk}/provider/cancel")
    over = alice.get(f"/sessions/{session.pk}/provider/", **asked)

    job.refresh_from_db()
    assert (going.status_code, over.status_code, job.state) == (200, 286, "cancelled")
    assert b'value="40"' in going.content and b"<html" not in going.content
    assert b"hx-trigger" not in over.content
