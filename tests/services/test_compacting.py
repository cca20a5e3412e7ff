"""Compacting through a scripted provider: pieces, cancel, preview, what is written, undo."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from sessions_app.domain import dialects, rowdoc
from sessions_app.domain.bodies import body
from sessions_app.domain.model import CompactionPart, TextPart
from sessions_app.domain.processor.summary import history_text
from sessions_app.domain.wire.target import infer_target
from sessions_app.models import AuditEntry, Compaction, Session, Source
from sessions_app.selectors.rows import session_rows
from sessions_app.services.actor import Actor
from sessions_app.services.compacting import (
    compaction_apply,
    compaction_cancel,
    compaction_preview,
    compaction_run,
    compaction_start,
)
from sessions_app.services.probing import ProbeRefused
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.services.repair.undo import repair_undo
from tests.factories.corpus import NOW, attached, copied, session_of
from tests.factories.v2files import everything
from tests.providers.scripted import (
    Answer,
    anthropic,
    block,
    chat_end,
    chat_text,
    response_text,
    responses,
    scripted,
)

ACTOR = Actor("jane")
SUMMARY = "## Goal\nList the files."


def says(*words: str, reason: str = "stop") -> Answer:
    return Answer((*chat_text(*words), *chat_end(reason)))


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Any:
    def at(url: str, context: str = "128000") -> None:
        monkeypatch.setenv("SUTURE_PROVIDER_FAKE_URL", f"{url}/v1")
        monkeypatch.setenv("SUTURE_PROVIDER_FAKE_KEY", "secret-key")
        monkeypatch.setenv("SUTURE_PROVIDER_FAKE_CONTEXT", context)

    return at


def made(session: Session, **options: Any) -> Compaction:
    job = compaction_start(session=session, actor=ACTOR, now=NOW, **options)
    while compaction_run(job_id=job.pk, clock=timezone.now):
        pass
    job.refresh_from_db()
    return job


@pytest.mark.django_db
def test_a_poisoned_session_is_summarised_written_as_the_client_does_and_undone(tmp_path: Path, place: Any) -> None:
    session = session_of("dup_id_slow", tmp_path)
    before = session_rows(session)
    assert session.health == "blocked"
    with scripted(says("## Goal\n", "List the files.")) as served:
        place(served.url)
        job = made(session)
    assert (job.state, job.percent, job.summary) == ("ready", 100, SUMMARY)
    assert session_rows(session) == before
    preview = compaction_preview(job=job, now=NOW)
    assert preview.verdict is not None and preview.verdict.accepted

    repair = compaction_apply(job=job, actor=ACTOR, now=timezone.now())

    session.refresh_from_db()
    # What is wrong stays in the rows, but is not sent any more.
    assert (session.health, session.blocked_count) == ("at-risk", 0)
    assert session.verdicts.get(own=True).accepted
    decoded = dialects.decode(session_rows(session))
    prompt, answer = decoded.history("opencode-v1")[-2:]
    assert isinstance(prompt.parts[0], CompactionPart) and not prompt.parts[0].auto
    assert prompt.data["model"] == {"providerID": "fake", "modelID": "fake-1"}
    assert answer.parent_id == prompt.id
    assert {
        "summary": True,
        "mode": "compaction",
        "agent": "compaction",
        "finish": "stop",
    }.items() <= answer.data.items()
    assert answer.data["tokens"]["total"] == 107
    assert [part.kind for part in answer.parts] == ["step-start", "text", "step-finish"]
    target = infer_target(decoded)
    assert target is not None
    sent = body(decoded, target, repairs=False, next_prompt="continue").body["messages"]
    assert [message["content"] for message in sent[1:]] == ["What did we do so far?", SUMMARY, "continue"]
    assert AuditEntry.objects.filter(action="session.compacted").count() == 1

    undo = repair_undo(repair=repair, actor=ACTOR, now=timezone.now())

    assert undo.state == "applied"
    assert session_rows(session) == before


@pytest.mark.django_db
def test_the_request_holds_the_conversation_as_text_without_tools(tmp_path: Path, place: Any) -> None:
    session = session_of("clean", tmp_path)
    with scripted(says(SUMMARY)) as served:
        place(served.url)
        made(session)

    request = json.loads(served.requests[0][2])
    assert set(request) == {"model", "messages", "max_tokens", "stream", "stream_options"}
    [message] = request["messages"]
    assert "[Assistant tool call]: bash(" in message["content"]
    assert "[Tool result]: hi" in message["content"]


@pytest.mark.django_db
def test_a_history_that_does_not_fit_is_summarised_in_pieces_that_build_on_each_other(
    tmp_path: Path, place: Any
) -> None:
    session = session_of("clean", tmp_path)
    path = Path(session.source.path)
    with closing(sqlite3.connect(path)) as connection, connection:
        row = connection.execute('SELECT id, data FROM part WHERE data LIKE \'%"text":"done"%\'').fetchone()
        long = " ".join(f"word{number}" for number in range(2_000))
        connection.execute(
            "UPDATE part SET data = ? WHERE id = ?", (row[1].replace('"done"', json.dumps(long)), row[0])
        )
    overflow = Answer(
        (
            json.dumps(
                {
                    "error": {
                        "message": "maximum context length is 9 tokens",
                        "code": "context_length_exceeded",
                    }
                }
            ).encode(),
        ),
        400,
        (("content-type", "application/json"),),
    )
    answers = [overflow, *[says(f"summary {number}") for number in range(9)]]
    with scripted(*answers) as served:
        place(served.url)
        job = made(session)

    sent = [json.loads(body)["messages"][0]["content"] for _, _, body in served.requests]
    assert job.state == "ready"
    assert job.requests == len(sent) - 1 >= 2
    assert job.chunk < len(sent[0])
    assert "<summary>\nsummary 0\n</summary>" in sent[2]
    pieces = [text.split("<conversation>\n")[1].split("\n</conversation>")[0] for text in sent[1:]]
    assert "".join(pieces) == sent[0].split("<conversation>\n")[1].split("\n</conversation>")[0]
    assert job.summary == f"summary {job.requests - 1}"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (says(reason="stop"), "without any text"),
        (says("half", reason="length"), "not whole"),
        (
            Answer((b'{"error":{"message":"bad key"}}',), 401, (("content-type", "application/json"),)),
            "bad key",
        ),
    ],
)
def test_a_summary_that_is_none_is_never_applied(tmp_path: Path, place: Any, answer: Answer, words: str) -> None:
    session = session_of("clean", tmp_path)
    with scripted(answer) as served:
        place(served.url)
        job = made(session)

    assert job.state == "failed"
    assert words in job.error
    with pytest.raises(RepairRefused):
        compaction_apply(job=job, actor=ACTOR, now=NOW)


@pytest.mark.django_db
def test_a_cancelled_summary_stops_and_writes_nothing(tmp_path: Path, place: Any) -> None:
    session = session_of("clean", tmp_path)
    before = session_rows(session)
    with scripted() as served:
        place(served.url)
        job = compaction_start(session=session, actor=ACTOR, now=NOW)
        compaction_cancel(job=job, now=NOW)
        assert not compaction_run(job_id=job.pk, clock=timezone.now)

    job.refresh_from_db()
    assert job.state == "cancelled"
    assert served.requests == []
    assert session_rows(session) == before


@pytest.mark.django_db
def test_a_session_that_changed_since_is_not_written(tmp_path: Path, place: Any) -> None:
    session = session_of("clean", tmp_path)
    with scripted(says(SUMMARY)) as served:
        place(served.url)
        job = made(session)
    with closing(sqlite3.connect(session.source.path)) as connection, connection:
        connection.execute("UPDATE session SET title = 'other', time_updated = time_updated + 1")

    with pytest.raises(RepairRefused, match="changed after it was summarised"):
        compaction_apply(job=job, actor=ACTOR, now=NOW)


@pytest.mark.django_db
def test_a_v2_session_is_compacted_in_its_file_with_its_events(tmp_path: Path, place: Any) -> None:
    path = copied("v2-gen1", tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM session_message WHERE seq >= 33")
    before = everything(path)
    session = Session.objects.get(source=attached(path))
    with scripted(says(SUMMARY)) as served:
        place(served.url)
        job = made(session, target="openai-chat:fake/fake-1")
        repair = compaction_apply(job=job, actor=ACTOR, now=NOW)

    row = session_rows(session).session_message[-1]
    assert (row["type"], row["seq"], json.loads(row["data"])["summary"]) == ("compaction", 36, SUMMARY)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT data FROM session_message WHERE seq = 36").fetchone() == (row["data"],)
        assert connection.execute("SELECT seq FROM event_sequence").fetchall() == [(36,)]
        assert connection.execute("SELECT count(*) FROM event").fetchall() == [(37,)]

    repair_undo(repair=repair, actor=ACTOR, now=NOW)

    assert everything(path) == before


@pytest.mark.django_db
def test_a_v2_session_without_events_is_compacted_in_the_mirror_of_an_upload_only(tmp_path: Path, place: Any) -> None:
    path = copied("v2-gen1", tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM session_message WHERE seq >= 33")
        connection.execute("DELETE FROM event")
        connection.execute("DELETE FROM event_sequence")
    session = Session.objects.get(source=attached(path))
    target = {"target": "openai-chat:fake/fake-1"}
    with scripted(says(SUMMARY)) as served:
        place(served.url)
        with pytest.raises(ProbeRefused, match="stopped upgrades"):
            compaction_start(session=session, actor=ACTOR, now=NOW, **target)
        Source.objects.filter(pk=session.source_id).update(origin="uploaded")
        session = Session.objects.select_related("source").get(pk=session.pk)
        before = session_rows(session)
        job = made(session, **target)
        repair = compaction_apply(job=job, actor=ACTOR, now=NOW)

    row = session_rows(session).session_message[-1]
    assert (row["type"], json.loads(row["data"])["summary"]) == ("compaction", SUMMARY)
    assert row["seq"] > before.session_message[-1]["seq"]
    with closing(sqlite3.connect(session.source.path)) as connection:
        assert connection.execute("SELECT count(*) FROM session_message").fetchone()[0] == len(before.session_message)

    repair_undo(repair=repair, actor=ACTOR, now=NOW)

    assert session_rows(session) == before


@pytest.mark.django_db
@pytest.mark.parametrize(
    "name",
    [
        "compact_fail_400",
        "compact_killed",
        "compact_empty_summary",
        "retry_tool_done_sameid",
        "idwrap_before@1.18.11",
    ],
)
def test_whatever_stands_before_it_the_summary_closes_the_history(tmp_path: Path, place: Any, name: str) -> None:
    session = session_of(name, tmp_path)
    with scripted(says(SUMMARY)) as served:
        place(served.url)
        job = made(session, target="openai-chat:fake/fake-1")
        compaction_apply(job=job, actor=ACTOR, now=NOW)

    session.refresh_from_db()
    decoded = dialects.decode(session_rows(session))
    target = infer_target(decoded)
    assert target is not None
    text = json.dumps(body(decoded, target, repairs=False, next_prompt="continue").body)
    assert "List the files." in text
    assert text.count("What did we do so far?") == 1
    assert session.health in ("healthy", "at-risk")
    assert [part.text for part in decoded.history("opencode-v1")[-1].parts if isinstance(part, TextPart)] == [SUMMARY]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("target", "reply"),
    [
        (
            "anthropic-messages:fake/claude-1",
            anthropic(block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": SUMMARY})),
        ),
        ("openai-responses:fake/gpt-1", responses(response_text("msg_1", SUMMARY))),
    ],
)
def test_any_of_the_three_apis_can_write_the_summary(
    tmp_path: Path, place: Any, target: str, reply: tuple[bytes, ...]
) -> None:
    session = session_of("clean", tmp_path)
    with scripted(Answer(reply)) as served:
        place(served.url)
        job = made(session, target=target)
        repair = compaction_apply(job=job, actor=ACTOR, now=NOW)

    assert (job.summary, repair.state) == (SUMMARY, "applied")
    answer = dialects.decode(session_rows(session)).history("opencode-v1")[-1]
    assert answer.data["modelID"] == target.partition("/")[2]


def test_long_arguments_and_outputs_are_cut_before_they_are_sent() -> None:
    long = "x" * 50_000
    state = {"status": "completed", "input": {"content": long}, "output": long, "title": "", "metadata": {}}
    rows = rowdoc.parse_value(
        {
            "session": {"id": "ses_1", "version": "1.18.33"},
            "messages": [
                {
                    "id": "msg_1",
                    "session_id": "ses_1",
                    "time_created": 1,
                    "time_updated": 1,
                    "data": {"role": "assistant", "finish": "stop", "time": {"created": 1, "completed": 2}},
                    "parts": [
                        {
                            "id": "prt_1",
                            "message_id": "msg_1",
                            "session_id": "ses_1",
                            "time_created": 1,
                            "time_updated": 1,
                            "data": {
                                "type": "tool",
                                "tool": "write",
                                "callID": "c",
                                "state": {**state, "time": {"start": 1, "end": 2}},
                            },
                        }
                    ],
                }
            ],
        }
    )

    text = history_text(dialects.decode(rows)).text

    assert len(text) < 5_000
    assert text.count("[truncated]") == 2


@pytest.mark.django_db
def test_a_cancel_is_noticed_while_a_retry_is_waited_for(tmp_path: Path, place: Any) -> None:
    session = session_of("clean", tmp_path)
    slow = Answer(
        (b'{"error":{"message":"slow down"}}',),
        429,
        (("content-type", "application/json"), ("retry-after", "60")),
    )
    with scripted(slow) as served:
        place(served.url)
        job = compaction_start(session=session, actor=ACTOR, now=NOW)
        looked: list[float] = []

        def clock() -> Any:
            looked.append(time.monotonic())
            if len(looked) == 3:
                Compaction.objects.filter(pk=job.pk).update(cancel_requested=True)
            return timezone.now()

        started = time.monotonic()
        assert not compaction_run(job_id=job.pk, clock=clock)

    job.refresh_from_db()
    assert job.state == "cancelled"
    assert time.monotonic() - started < 20
