"""What stands between messages and beside them: pauses, other models, compactions, aborted answers, sub-agents; waiting
jobs."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from sessions_app.models import ImportJob, Message, Part, RepairBatch, Session, WorkerBeat
from tests.factories import models as factories

pytestmark = pytest.mark.django_db(transaction=True)


def session_of(*messages: dict, parts: dict | None = None) -> Session:
    """A session of these messages, each with one part (``parts`` by message number, else text)."""
    session = factories.session(factories.source(), "ses_parent", dialect="opencode-v1", imported_at=factories.NOW)
    for number, fields in enumerate(messages):
        message = Message.objects.create(
            session=session,
            table="message",
            position=number,
            stored_id=f"msg_{number}",
            **{"kind": "assistant", "time_created": 1_700_000_000_000 + number, "data": "{}"} | fields,
        )
        value = (parts or {}).get(number, {"type": "text", "text": f"text {number}"})
        Part.objects.create(
            session=session,
            message=message,
            message_stored_id=message.stored_id,
            position=number,
            kind=value["type"],
            stored_id=f"prt_{number}",
            data=json.dumps(value),
            tool=value.get("tool", ""),
            status="completed" if "tool" in value else "",
        )
    return session


def gaps(client: Client, session: Session) -> list[str]:
    page = client.get(f"/sessions/{session.pk}/").html
    return [re.sub(r"<[^>]+>", "", text).strip() for text in re.findall(r'<div class="gap[^"]*">(.*?)</div>', page)]


def test_another_model_an_abort_and_a_pause_are_said_where_they_are(alice: Client) -> None:
    session = session_of(
        {"kind": "user"},
        {"provider": "a", "model": "one", "data": '{"error":{"name":"MessageAbortedError","data":{}}}'},
        {"kind": "user", "time_created": 1_700_000_000_000 + 3 * 3_600_000},
        {"provider": "b", "model": "two", "time_created": 1_700_000_000_000 + 3 * 3_600_000},
        {"provider": "b", "model": "two", "time_created": 1_700_000_000_000 + 3 * 3_600_000},
    )

    assert gaps(alice, session) == [
        "Interrupted: this answer was aborted",
        "2 h 59 min idle",
        "Model changes from a/one to b/two",
    ]


def test_a_compaction_says_what_stands_above(alice: Client) -> None:
    session = session_of({"kind": "user"}, {}, {"kind": "user"}, parts={2: {"type": "compaction", "auto": False}})

    assert gaps(alice, session) == ["Conversation compacted here; 2 parts stand above"]


def test_a_sub_agent_stands_at_the_call_that_started_it_with_its_health(alice: Client) -> None:
    call = {
        "type": "tool",
        "tool": "task",
        "callID": "c",
        "state": {"status": "completed", "metadata": {"sessionId": "ses_child"}},
    }
    session = session_of({"kind": "user"}, {}, parts={1: call})
    before = alice.get(f"/sessions/{session.pk}/").html
    child = factories.session(session.source, "ses_child", title="the helper", health="blocked", blocked_count=2)

    page = alice.get(f"/sessions/{session.pk}/").html

    assert "is not in this store" in before
    card = page.split("Sub-agent session</strong>")[1].split("</div>")[0]
    assert "Blocked" in card
    assert f'href="/sessions/{child.pk}/">the helper' in card
    assert "2 findings" in card


@pytest.fixture
def queued(settings) -> None:
    """Jobs go to a worker, as they do outside tests."""
    settings.TASKS = {"default": {"BACKEND": "django.tasks.backends.dummy.DummyBackend"}}


@pytest.mark.parametrize("alive", [True, False])
def test_a_job_that_waits_for_a_worker_says_that_none_is_running(alice: Client, queued: None, alive: bool) -> None:
    now = timezone.now()
    source = factories.source()
    ImportJob.objects.create(source=source, state="queued", total=4, created_at=now)
    batch = RepairBatch.objects.create(state="queued", total=1, created_at=now)
    WorkerBeat.objects.create(worker_id="w", started_at=now, beat_at=now - timedelta(seconds=1 if alive else 60))

    pages = [alice.get(f"/{path}/").html for path in (f"sources/{source.pk}", f"bulk/{batch.public_id}")]

    assert ["No worker is running" in page for page in pages] == [not alive] * 2
    assert 'data-percent="0"' in pages[0]


def test_where_jobs_run_at_once_no_worker_is_missed(alice: Client) -> None:
    source = factories.source()
    ImportJob.objects.create(source=source, state="running", total=4, created_at=timezone.now())

    assert "No worker is running" not in alice.get(f"/sources/{source.pk}/").html
