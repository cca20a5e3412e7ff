"""The timeline: stored order, the first fault, duplicates in words, windows, bodies on demand."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from sessions_app.models import Finding, Message, Part, Session, Source
from sessions_app.selectors.timeline import session_outline, timeline_window
from tests.factories import models as factories

pytestmark = pytest.mark.django_db(transaction=True)


def order(page: str) -> list[str]:
    return re.findall(r'id="at-(prt_\w+)"', page)


def test_it_opens_at_the_first_fault_and_marks_both_twins_in_words(alice: Client, blocked: Session) -> None:
    page = alice.get(f"/sessions/{blocked.pk}/").html
    finding = Finding.objects.get(session=blocked, rule="duplicate-call-id-in-message")

    assert "Duplicate A (1 of 2)" in page
    assert "Duplicate A (2 of 2)" in page
    assert finding.summary in page
    assert re.search(rf'class="part [^"]*mark-duplicate[^"]* at" id="at-{finding.parts[0]}"', page)
    assert "Duplicate value for &#x27;tool_call_id&#x27;" in page


def test_parts_stand_in_stored_order(alice: Client, blocked: Session) -> None:
    stored = list(Part.objects.filter(session=blocked).order_by("position").values_list("stored_id", flat=True))

    assert order(alice.get(f"/sessions/{blocked.pk}/").html) == stored


def test_an_id_that_is_gone_is_said_and_the_rest_is_shown(alice: Client, blocked: Session) -> None:
    page = alice.get(f"/sessions/{blocked.pk}/?at=prt_gone").html

    assert "prt_gone</code> is not in this session any more" in page
    assert order(page)


def long_session(turns: int, steps: int = 1) -> Session:
    """Turns of a user message and an answer of ``steps`` parts."""
    source: Source = factories.source(origin="uploaded")
    session = factories.session(source, "ses_long", dialect="opencode-v1", imported_at=factories.NOW, rows_hash="x")
    position = 0
    for number in range(turns):
        for kind, texts in (
            ("user", [f"question {number}"]),
            ("assistant", [f"answer {number}.{n}" for n in range(steps)]),
        ):
            message = Message.objects.create(
                session=session,
                table="message",
                position=2 * number + (kind == "assistant"),
                kind=kind,
                stored_id=f"msg_{number:05}{kind[0]}",
                time_created=1_700_000_000_000 + number,
                data="{}",
            )
            parts = []
            for index, text in enumerate(texts):
                parts.append(
                    Part(
                        session=session,
                        message=message,
                        position=position,
                        kind="text",
                        message_stored_id=message.stored_id,
                        stored_id=f"prt_{number:05}{kind[0]}{index:05}",
                        data=json.dumps({"type": "text", "text": text}),
                        size=9,
                    )
                )
                position += 1
            Part.objects.bulk_create(parts)
    return session


def test_windows_of_whole_turns_meet_without_gap_or_overlap(db: None) -> None:
    session = long_session(turns=300)
    outline = session_outline(session)

    seen: list[int] = []
    start = 0
    while start < outline.parts:
        window = timeline_window(session, outline, since=start)
        assert window.start == start
        assert window.end - window.start <= 200
        seen += [turn.head.number for turn in window.turns]
        start = window.end
    assert seen == list(range(1, 301))


def test_going_back_from_a_window_reaches_the_beginning(db: None) -> None:
    session = long_session(turns=300)
    outline = session_outline(session)

    end, count = outline.parts, 0
    while end:
        window = timeline_window(session, outline, to=end)
        assert window.end == end
        count += sum(len(message.parts) for turn in window.turns for message in turn.messages)
        end = window.start
    assert count == outline.parts


def test_a_turn_longer_than_a_window_is_shown_in_slices(db: None) -> None:
    session = long_session(turns=2, steps=450)
    outline = session_outline(session)

    shown: list[str] = []
    start = 0
    while start < outline.parts:
        window = timeline_window(session, outline, since=start)
        assert window.end - window.start <= 200
        shown += [part.stored_id for turn in window.turns for message in turn.messages for part in message.parts]
        start = window.end
    stored = list(Part.objects.filter(session=session).order_by("position").values_list("stored_id", flat=True))
    assert shown == stored


def test_the_place_that_is_asked_for_is_in_the_window(alice: Client) -> None:
    session = long_session(turns=400)

    page = alice.get(f"/sessions/{session.pk}/?at=prt_00200u00000").html

    assert "answer 200.0" in page
    assert "answer 20.0" not in page
    assert "Load earlier turns" in page
    assert "Load later turns" in page


def test_later_turns_come_as_a_fragment_for_htmx_and_as_a_page_for_everybody_else(alice: Client) -> None:
    session = long_session(turns=300)
    address = f"/sessions/{session.pk}/?from=200"

    part = alice.get(address, headers={"HX-Request": "true", "HX-Target": "later"}).html
    whole = alice.get(address).html

    assert part.lstrip().startswith("<section")
    assert "<html" not in part
    assert 'id="earlier"' not in part
    assert 'id="later"' in part
    assert order(part) == order(whole)


def test_a_long_session_costs_as_many_queries_as_a_short_one(
    alice: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    session = long_session(turns=400, steps=4)

    with django_assert_max_num_queries(28):
        assert alice.get(f"/sessions/{session.pk}/").status_code == 200


def test_a_body_is_fetched_when_it_is_opened_and_is_a_page_without_htmx(alice: Client, blocked: Session) -> None:
    tool = Part.objects.filter(session=blocked, kind="tool", status="completed").first()
    timeline = alice.get(f"/sessions/{blocked.pk}/").html

    part = alice.get(f"/parts/{tool.pk}/body?show=output", headers={"HX-Request": "true"}).html
    whole = alice.get(f"/parts/{tool.pk}/body?show=output").html

    assert f"/parts/{tool.pk}/body?show=output" in timeline
    assert "<html" not in part
    assert "<html" in whole
    assert "hi" in part


def test_a_body_that_a_part_does_not_have_is_a_404(alice: Client, blocked: Session) -> None:
    text = Part.objects.filter(session=blocked, kind="text").first()

    assert alice.get(f"/parts/{text.pk}/body?show=output").status_code == 404
    assert alice.get(f"/parts/{text.pk}/body?show=everything").status_code == 404


def test_a_part_that_does_not_decode_is_shown_raw_and_the_rest_works(alice: Client) -> None:
    session = long_session(turns=3)
    Part.objects.filter(session=session, stored_id="prt_00001a00000").update(data='{"type":"text","te', kind="")

    page = alice.get(f"/sessions/{session.pk}/").html

    assert "Unreadable part" in page
    assert "Not JSON" in page
    assert "answer 2.0" in page


def test_the_download_of_a_part_is_byte_for_byte(alice: Client, blocked: Session) -> None:
    part = Part.objects.filter(session=blocked, kind="tool").first()

    answer = alice.get(f"/parts/{part.pk}/?download=1")

    assert answer.html == part.value
    assert answer["x-content-type-options"] == "nosniff"
    assert "attachment" in answer["content-disposition"]
