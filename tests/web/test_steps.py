"""From fault to fault without the whole page, the index when more of it is asked for, and what is kept for the next
look."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils import timezone

from sessions_app.models import Finding, Session
from sessions_app.selectors import outline as outlines
from sessions_app.selectors import payloads
from sessions_app.selectors.outline import session_outline
from sessions_app.services.scanning import session_scan
from tests.factories import models as factories
from tests.web.test_timeline import long_session, order

pytestmark = pytest.mark.django_db(transaction=True)


def with_faults(turns: int = 300) -> Session:
    """A long session with a fault in every fiftieth turn."""
    session = long_session(turns=turns)
    Session.objects.filter(pk=session.pk).update(scanned_at=factories.NOW, scanned_hash="x", rules_version="")
    session_scan(session=session, now=timezone.now(), force=True)
    for number in range(0, turns, 50):
        part = f"prt_{number:05}a00000"
        Finding.objects.create(
            session=session, key=f"stuck-tool:{part}", rule="stuck-tool", severity="blocked", safety="safe",
            summary=f"Stuck in {number}", parts=[part], messages=[], position=number,
        )  # fmt: skip
    session.refresh_from_db()
    return session


def stepped(client: Client, session: Session, number: int, seen: str | None = None):
    headers = {"HX-Request": "true", "HX-Target": "conversation"}
    headers["Suture-Seen"] = session_outline(session).state if seen is None else seen
    return client.get(f"/sessions/{session.pk}/?fault={number}", headers=headers)


def test_a_step_gives_the_window_and_the_card_of_the_next_fault(alice: Client) -> None:
    session = with_faults()
    whole = alice.get(f"/sessions/{session.pk}/?fault=3").html
    part = stepped(alice, session, 3).html

    assert order(part) == order(whole)
    assert part.lstrip().startswith("<section")
    assert "<html" not in part
    assert f">3 of {len(session_outline(session).serious)}<" in part
    assert set(re.findall(r'id="([\w-]+)"[^>]*hx-swap-oob="true"', part)) == {"shown-fault"}
    assert 'class="turn-index' not in part
    assert 'data-fault="3"' in part
    assert 'data-rail-y="' in part


def test_the_ways_to_other_faults_are_links_of_which_htmx_fetches_a_part(alice: Client) -> None:
    session = with_faults()
    page = alice.get(f"/sessions/{session.pk}/?list=health%3Dblocked").html

    link = re.search(r'<a[^>]*data-key="n"[^>]*>', page)
    assert link is not None
    number = next(fault.number for fault in session_outline(session).serious if fault.at == "prt_00050a00000")
    place = "#at-prt_00050a00000"
    for name, fragment in (("href", place), ("hx-get", ""), ("hx-push-url", place)):
        assert f'{name}="?fault={number}&amp;list=health%3Dblocked{fragment}"' in link[0]
    assert page.count('hx-target="#conversation"') > 10
    assert f'"Suture-Seen": "{session_outline(session).state}"' in page


def test_a_step_on_a_page_that_is_out_of_date_loads_the_page_anew(alice: Client) -> None:
    session = with_faults()
    seen = session_outline(session).state
    session_scan(session=session, now=timezone.now(), force=True)

    answer = stepped(alice, session, 1, seen)

    assert answer["HX-Redirect"] == f"/sessions/{session.pk}/?fault=1"
    assert "HX-Request" in answer["Vary"]


def test_who_may_not_look_gets_no_part_of_what_another_looked_at(alice: Client, victor: Client, nobody: Client) -> None:
    session = with_faults()
    mine, his = stepped(alice, session, 1).html, stepped(victor, session, 1).html

    assert f"/sessions/{session.pk}/ignore/" in mine
    assert f"/sessions/{session.pk}/ignore/" not in his
    assert stepped(nobody, session, 1).status_code == 403


def test_the_index_names_a_choice_and_more_when_asked(alice: Client) -> None:
    session = with_faults()
    page = alice.get(f"/sessions/{session.pk}/").html
    more = alice.get(
        f"/sessions/{session.pk}/?index=all", headers={"HX-Request": "true", "HX-Target": "turn-lines"}
    ).html

    assert page.count("data-turn=") < 250 < more.count("data-turn=")
    assert "Show more of them" in page
    assert more.count("data-turn=") == 300
    assert "<nav" not in more
    assert alice.get(f"/sessions/{session.pk}/?index=all").html.count("data-turn=") >= 300


def test_an_outline_is_made_once_and_anew_after_a_scan(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    session = with_faults(turns=3)
    made = []
    real = outlines._outline
    monkeypatch.setattr(outlines, "_outline", lambda *given: made.append(1) or real(*given))

    first = session_outline(session)
    assert session_outline(session) is first
    assert len(made) == 1

    session_scan(session=session, now=timezone.now(), force=True)
    session.refresh_from_db()
    assert session_outline(session).state != first.state
    assert session_outline(session, "session_message").turns == ()
    assert len(made) == 3


def test_what_somebody_writes_while_it_is_made_is_not_kept(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    session = with_faults(turns=3)
    real = outlines._outline

    def meanwhile(*given):
        Session.objects.filter(pk=session.pk).update(rows_hash="newer")
        return real(*given)

    monkeypatch.setattr(outlines, "_outline", meanwhile)
    first = session_outline(session)
    monkeypatch.setattr(outlines, "_outline", real)

    assert session_outline(session) is not first


def test_a_session_that_was_never_scanned_is_not_kept(db: None) -> None:
    session = long_session(turns=2)

    assert session_outline(session) is not session_outline(session)


def test_a_payload_is_made_once_for_all_its_pages_and_messages(
    alice: Client, blocked: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    real = payloads._judged
    monkeypatch.setattr(payloads, "_judged", lambda *given: made.append(given[1].target) or real(*given))
    address = f"/sessions/{blocked.pk}/payload/"

    whole = alice.get(address).html
    again = alice.get(address).html
    one = alice.get(f"{address}?message=1", headers={"HX-Request": "true"}).html
    assert len(made) == 1
    assert "<html" not in one
    assert re.findall(r"Message \d+.*", whole) == re.findall(r"Message \d+.*", again)

    alice.get(f"{address}?protocol=gemini")
    assert made == ["", "gemini"]

    alice.post(f"/sessions/{blocked.pk}/scan/")
    alice.get(address)
    assert len(made) == 3


@pytest.mark.parametrize("key", ["messages", "input", "contents"])
def test_messages_of_a_body_are_decoded_a_window_at_a_time(key: str) -> None:
    sent = payloads.sent_messages(f'{{"model":"m","{key}":[{{"a":1}},{{"a":"\\u00e9"}},[2.50]],"n":{{"x":[1]}}}}')

    assert (sent.key, len(sent), sent.outer) == (key, 3, {"model": "m", "n": {"x": [1]}})
    assert sent.window(1, 5) == [{"a": "é"}, [2.5]]
    assert sent.window(9, 5) == []


def test_a_body_with_half_of_a_surrogate_pair_is_shown_too() -> None:
    sent = payloads.sent_messages('{"messages":[{"a":"\\ud800"}],"model":"m"}')

    assert (sent.key, sent.outer, sent.window(0, 1)) == ("messages", {"model": "m"}, [{"a": "\ud800"}])


def test_a_body_without_messages_has_none() -> None:
    sent = payloads.sent_messages('{"messages":"none"}')

    assert (sent.key, len(sent), sent.outer) == ("", 0, {"messages": "none"})
