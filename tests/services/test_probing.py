"""Probes through a scripted provider: what is shown is what is sent, and the answer is resolved and kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sessions_app.domain.wish import Wish
from sessions_app.models import AuditEntry, Probe
from sessions_app.services.actor import Actor
from sessions_app.services.probing import (
    ProbeOptions,
    ProbeRefused,
    probe_run,
    session_prepare,
)
from sessions_app.services.repair.apply import repair_apply
from tests.factories.corpus import NOW, session_of
from tests.providers.scripted import DONE, Answer, chat_end, chat_text, scripted

ACTOR = Actor("jane")
ACCEPTED = Answer(
    (
        json.dumps(
            {
                "choices": [{"message": {"content": ""}}],
                "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 1},
            }
        ).encode(),
    ),
    headers=(("content-type", "application/json"),),
)


def refused(message: str, status: int = 400) -> Answer:
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode()
    return Answer((body,), status, (("content-type", "application/json"),))


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Any:
    def at(url: str, provider: str = "FAKE") -> None:
        monkeypatch.setenv(f"SUTURE_PROVIDER_{provider}_URL", url)
        monkeypatch.setenv(f"SUTURE_PROVIDER_{provider}_KEY", "secret-key")
        monkeypatch.setenv(f"SUTURE_PROVIDER_{provider}_PRICES", "3,15")

    return at


@pytest.mark.django_db
def test_a_probe_sends_the_very_bytes_it_showed_and_keeps_time_cost_and_host(tmp_path: Path, place: Any) -> None:
    session = session_of("clean", tmp_path)
    with scripted(ACCEPTED) as served:
        place(f"{served.url}/v1")
        shown = session_prepare(session=session, options=ProbeOptions(), now=NOW)
        assert served.requests == []
        probe = probe_run(session=session, options=ProbeOptions(), actor=ACTOR, now=NOW, expected_digest=shown.digest)

    [(path, headers, body)] = served.requests
    assert body == shown.request
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == "Bearer secret-key"
    sent = json.loads(body)
    assert sent["max_tokens"] == 1
    assert sent["messages"][-1] == {"role": "user", "content": "continue"}
    assert (probe.answer, probe.status, probe.host) == ("accepted", 200, served.url.removeprefix("http://"))
    assert probe.cost == pytest.approx(3.000015)
    assert probe.size == len(body)
    assert "secret-key" not in json.dumps([probe.target, probe.error, probe.host])
    entry = AuditEntry.objects.get(action="probe.run")
    assert entry.actor == "jane"
    assert "?" not in entry.sentence


@pytest.mark.django_db
def test_a_refusal_is_kept_in_the_providers_words_and_leads_to_the_part(tmp_path: Path, place: Any) -> None:
    session = session_of("dup_id_slow", tmp_path)
    words = session.verdicts.get(own=True).violations[0]
    with scripted(refused(words["error"])) as served:
        place(f"{served.url}/v1")
        probe = probe_run(session=session, options=ProbeOptions(), actor=ACTOR, now=NOW)

    assert (probe.answer, probe.error) == ("refused", words["error"])
    assert probe.locations[0]["message"] == words["message"]
    assert "duplicate-call-id-in-message" in probe.locations[0]["faults"]


@pytest.mark.django_db
def test_as_repaired_sends_what_would_be_stored_after_the_safe_repairs(tmp_path: Path, place: Any) -> None:
    session = session_of("dup_id_slow", tmp_path)
    with scripted(ACCEPTED, ACCEPTED) as served:
        place(f"{served.url}/v1")
        probe_run(session=session, options=ProbeOptions(as_stored=False), actor=ACTOR, now=NOW)
        repair_apply(session=session, wish=Wish(), actor=ACTOR, now=NOW)
        probe_run(session=session, options=ProbeOptions(), actor=ACTOR, now=NOW)

    bodies = [body for _, _, body in served.requests]
    assert bodies[0] == bodies[1]
    assert list(Probe.objects.filter(session=session).order_by("id").values_list("as_stored", flat=True)) == [
        False,
        True,
    ]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("status", "answer"),
    [(401, "failed"), (429, "failed"), (500, "failed"), (404, "refused"), (413, "refused")],
)
def test_only_a_judgement_of_the_request_is_a_refusal(tmp_path: Path, place: Any, status: int, answer: str) -> None:
    session = session_of("clean", tmp_path)
    with scripted(refused("no", status)) as served:
        place(f"{served.url}/v1")
        probe = probe_run(session=session, options=ProbeOptions(), actor=ACTOR, now=NOW)

    assert (probe.answer, probe.status, len(served.requests)) == (answer, status, 1)


@pytest.mark.django_db
def test_a_gateway_that_streams_although_it_was_not_asked_to_has_accepted(tmp_path: Path, place: Any) -> None:
    session = session_of("clean", tmp_path)
    with scripted(Answer((b": waiting\n\n", *chat_text("o"), *chat_end("length")), 202)) as served:
        place(f"{served.url}/v1")
        probe = probe_run(session=session, options=ProbeOptions(), actor=ACTOR, now=NOW)

    assert (probe.answer, probe.status, probe.error) == ("accepted", 202, "")
    assert probe.usage["input"] == 60


@pytest.mark.django_db
def test_a_stream_that_tells_of_an_error_is_a_refusal_with_its_status(tmp_path: Path, place: Any) -> None:
    session = session_of("clean", tmp_path)
    told = b'data: {"error": {"message": "messages: bad", "type": "invalid_request_error"}}\n\n'
    page = Answer((b"<html>busy</html>",), 203, (("content-type", "text/html"),))
    with scripted(Answer((told, DONE)), page) as served:
        place(f"{served.url}/v1")
        probe = probe_run(session=session, options=ProbeOptions(), actor=ACTOR, now=NOW)
        other = probe_run(session=session, options=ProbeOptions(), actor=ACTOR, now=NOW)

    assert (probe.answer, probe.status, probe.error) == ("refused", 200, "messages: bad")
    assert (other.answer, other.status) == ("failed", 203)


@pytest.mark.django_db
def test_without_an_endpoint_it_is_not_probeable(tmp_path: Path) -> None:
    session = session_of("clean", tmp_path)

    with pytest.raises(ProbeRefused, match="Not probeable: no endpoint is configured for the provider 'fake'"):
        session_prepare(session=session, options=ProbeOptions(), now=NOW)
    with pytest.raises(ProbeRefused, match="nothing here sends requests of gemini"):
        session_prepare(session=session, options=ProbeOptions("gemini:google/gemini-3"), now=NOW)


@pytest.mark.django_db
def test_a_payload_that_is_not_the_one_shown_is_not_sent(tmp_path: Path, place: Any) -> None:
    session = session_of("clean", tmp_path)
    with scripted(ACCEPTED) as served:
        place(f"{served.url}/v1")
        with pytest.raises(ProbeRefused, match="changed after this payload was shown"):
            probe_run(session=session, options=ProbeOptions(), actor=ACTOR, now=NOW, expected_digest="0" * 64)

    assert served.requests == []
    assert not Probe.objects.exists()


@pytest.mark.django_db
def test_anthropic_with_thinking_gets_the_smallest_budget_it_takes(tmp_path: Path, place: Any) -> None:
    session = session_of("clean", tmp_path)
    place("http://127.0.0.1:9", "FAKEA")

    shown = session_prepare(
        session=session, options=ProbeOptions("anthropic-messages:fakea/claude-think", "on"), now=NOW
    )

    sent = json.loads(shown.request)
    assert (sent["max_tokens"], sent["thinking"]) == (1025, {"type": "enabled", "budget_tokens": 1024})
