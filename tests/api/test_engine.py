"""Probes and compactions by REST."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from sessions_app.models import Probe
from tests.factories.corpus import session_of
from tests.providers.scripted import Answer, chat_end, chat_text, scripted
from tests.services.test_probing import ACCEPTED, place, refused  # noqa: F401  a fixture

SUMMARY = Answer((*chat_text("## Goal\n", "List files."), *chat_end()))


def post(api: Client, address: str, **body: Any) -> Any:
    return api.post(f"/api/v1/{address}", json.dumps(body), content_type="application/json")


def test_a_probe_is_sent_only_when_the_body_says_so(api: Client, tmp_path: Path, place: Any) -> None:  # noqa: F811
    session = session_of("clean", tmp_path)
    with scripted(ACCEPTED) as served:
        place(f"{served.url}/v1")
        asked = post(api, f"sessions/{session.pk}/probe").json()
        assert served.requests == [] and asked["sent"] is False
        told = post(api, f"sessions/{session.pk}/probe", send=True, digest=asked["digest"]).json()

    assert (told["answer"], told["host"], told["size"]) == ("accepted", asked["host"], asked["size"])
    assert len(served.requests[0][2]) == asked["size"]
    listed = api.get(f"/api/v1/sessions/{session.pk}/probes").json()
    assert [item["id"] for item in listed["items"]] == [told["id"]]


def test_a_refusal_is_an_answer_with_the_part_it_points_at(api: Client, tmp_path: Path, place: Any) -> None:  # noqa: F811
    session = session_of("dup_id_slow", tmp_path)
    words = session.verdicts.get(own=True).violations[0]
    with scripted(refused(words["error"])) as served:
        place(f"{served.url}/v1")
        told = post(api, f"sessions/{session.pk}/probe", send=True).json()

    assert (told["answer"], told["error"]) == ("refused", words["error"])
    assert told["locations"][0]["message"] == words["message"]


def test_a_session_that_is_not_probeable_is_refused_in_words(api: Client, tmp_path: Path) -> None:
    session = session_of("clean", tmp_path)

    answer = post(api, f"sessions/{session.pk}/probe", send=True)

    assert answer.status_code == 409
    assert "Not probeable" in answer.json()["detail"]
    assert not Probe.objects.exists()


def test_a_wrong_digest_sends_nothing(api: Client, tmp_path: Path, place: Any) -> None:  # noqa: F811
    session = session_of("clean", tmp_path)
    with scripted() as served:
        place(f"{served.url}/v1")
        answer = post(api, f"sessions/{session.pk}/probe", send=True, digest="abc")

    assert answer.status_code == 409
    assert served.requests == []


@pytest.mark.django_db(transaction=True)
def test_a_session_is_compacted_and_taken_back(api: Client, tmp_path: Path, place: Any) -> None:  # noqa: F811
    session = session_of("compact_fail_400", tmp_path)
    before = session.rows_hash
    with scripted(SUMMARY) as served:
        place(f"{served.url}/v1")
        asked = post(api, f"sessions/{session.pk}/compact")
        assert (asked.status_code, asked.json()["sent"], served.requests) == (200, False, [])
        started = post(api, f"sessions/{session.pk}/compact", send=True)
        assert started.status_code == 202
        number = started.json()["id"]
        ready = api.get(f"/api/v1/compactions/{number}").json()
    assert (ready["state"], ready["summary"], ready["percent"]) == ("ready", "## Goal\nList files.", 100)

    applied = post(api, f"compactions/{number}/apply", reason="ticket 7").json()
    again = post(api, f"compactions/{number}/apply")

    assert (applied["state"], applied["rules"], applied["reason"]) == ("applied", ["compaction"], "ticket 7")
    assert again.status_code == 409
    session.refresh_from_db()
    assert session.rows_hash != before
    post(api, f"repairs/{applied['id']}/undo")
    session.refresh_from_db()
    assert session.rows_hash == before


def test_who_may_not_repair_may_not_ask_providers(client: Client, bob: Any, tmp_path: Path) -> None:
    session = session_of("clean", tmp_path)
    client.force_login(bob)

    answers = [client.get(f"/api/v1/sessions/{session.pk}/probes").status_code]

    assert answers == [403]
