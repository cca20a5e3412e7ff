"""Prompts that the V2 server took and never sent: shown behind the conversation, and part of the next request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from django.test import Client

from sessions_app.domain.dialects import decode
from sessions_app.domain.dialects.opencode_v2.inputs import waiting_prompts
from sessions_app.domain.lowering import lower
from sessions_app.domain.model import SessionRows
from sessions_app.domain.rowdoc import dump, parse_value
from sessions_app.domain.scan import scan
from sessions_app.models import Finding, Session
from sessions_app.selectors.rows import session_rows
from tests.factories.corpus import attached
from tests.factories.v2recordings import RECORDINGS

WAITS = RECORDINGS["v2r_no_resume_chat"]


def imported(path: Path, rows: SessionRows) -> Session:
    path.write_text(dump(rows))
    return Session.objects.get(source=attached(path))


@pytest.fixture
def waiting(tmp_path: Path, data_dir: Path, db: None) -> Session:
    return imported(tmp_path / "rows.json", parse_value(WAITS.rows))


def test_a_waiting_prompt_stands_behind_the_conversation(alice: Client, waiting: Session) -> None:
    page = alice.get(f"/sessions/{waiting.pk}/").html

    assert "Waiting prompt" in page and ">kept</div>" in page
    assert "the server sends it before the next prompt" in page
    assert session_rows(waiting).inputs == parse_value(WAITS.rows).inputs
    assert session_rows(waiting).sequence == parse_value(WAITS.rows).sequence
    finding = Finding.objects.get(session=waiting, rule="waiting-prompt")
    assert finding.severity == "info"
    assert "is not in this session" not in alice.get(f"/sessions/{waiting.pk}/?at={finding.messages[0]}").html


def test_the_next_request_holds_it_and_says_where_it_comes_from(alice: Client, waiting: Session) -> None:
    address = f"/sessions/{waiting.pk}/payload/?target=openai-chat:fake/m1&message=3"
    message = alice.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "kept" in message and parse_value(WAITS.rows).inputs[-1]["id"] in message
    both = alice.get(f"/sessions/{waiting.pk}/?order=sent")
    assert both.status_code == 200 and "kept" in both.html


def test_the_api_tells_it_with_the_timeline(alice: Client, waiting: Session) -> None:
    told = alice.get(f"/api/v1/sessions/{waiting.pk}/timeline").json()["waiting"]
    row = parse_value(WAITS.rows).inputs[-1]

    assert told == [{"id": row["id"], "text": "kept", "delivery": "steer", "time": row["time_created"]}]


def test_a_session_of_waiting_prompts_alone_shows_and_sends_them(alice: Client, data_dir: Path, tmp_path: Path) -> None:
    rows = parse_value(WAITS.rows)
    first, last = rows.inputs
    alone = replace(rows, session_message=[], inputs=[{**first, "promoted_seq": None}, last])

    page = alice.get(f"/sessions/{imported(tmp_path / 'rows.json', alone).pk}/").html
    assert "Waiting prompts" in page and "No messages" in page
    sent = lower(decode(alone), WAITS.target, next_prompt="continue").messages
    assert [message["content"][0]["text"] for message in sent] == ["one (job v2r_no_resume_chat)", "kept", "continue"]


def test_a_queued_prompt_waits_longer_and_one_that_has_a_row_is_not_waiting() -> None:
    rows = parse_value(WAITS.rows)
    rows.inputs[-1] = {**rows.inputs[-1], "delivery": "queue"}
    session = WAITS.session()
    session.rows = rows
    assert [one.data["text"] for one in waiting_prompts(rows)] == ["kept"]
    assert "one by one after" in next(one.summary for one in scan(session).findings if one.rule == "waiting-prompt")
    sent = lower(session, WAITS.target, next_prompt="continue").messages
    assert [message["content"][0]["text"] for message in sent if message["role"] == "user"][1:] == ["continue"]
    rows.inputs[-1] = {**rows.inputs[-1], "id": rows.session_message[0]["id"]}
    assert waiting_prompts(rows) == []
