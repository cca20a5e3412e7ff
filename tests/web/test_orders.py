"""The timeline's other orders: as the client sends it, and after the proposed repair."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from sessions_app import stores
from sessions_app.domain import bodies, dialects
from sessions_app.domain.wire.lowered import LoweringError
from sessions_app.domain.wire.names import PROTOCOLS
from sessions_app.domain.wire.target import default_target
from sessions_app.models import Finding, Part, Session
from sessions_app.selectors.orders import sent_order
from tests.factories.corpus import attached
from tests.paths import CORPUS

pytestmark = pytest.mark.django_db(transaction=True)


def rows_of(page: str) -> list[tuple[str, str]]:
    """(state, stored id) of every row in order; "" for what is stored nowhere."""
    found = []
    for piece in page.split('<div class="part part-')[1:]:
        place = re.search(r'at=(\w+)#[^"]*"\s*>as stored<', piece)
        found.append((piece.split('"')[0], place[1] if place else ""))
    return found


def test_the_sent_order_names_the_protocol_and_says_what_the_client_adds(alice: Client, blocked: Session) -> None:
    stored = alice.get(f"/sessions/{blocked.pk}/").html
    page = alice.get(f"/sessions/{blocked.pk}/?order=sent").html

    assert "As sent to OpenAI Chat" in stored
    assert "Added by the client: 1" in page
    assert "message 0 of the request" in page
    assert all(stored_id in page for stored_id in Finding.objects.filter(session=blocked)[0].parts)


def test_what_a_provider_is_not_sent_stands_where_it_is_stored(
    alice: Client, copied: Callable[[str], Path], data_dir: Path
) -> None:
    """Reasoning without a signature never reaches Anthropic."""
    session = Session.objects.get(source=attached(copied("think_nosig_tool")))
    reasoning = Part.objects.get(session=session, kind="reasoning")

    page = alice.get(f"/sessions/{session.pk}/?order=sent").html

    rows = rows_of(page)
    assert [part for state, part in rows if state == "not-sent"] == [reasoning.stored_id]
    stored = list(Part.objects.filter(session=session).order_by("position").values_list("stored_id", flat=True))
    places = [stored.index(part) for _, part in rows if part]
    assert places.index(stored.index(reasoning.stored_id)) > 0
    assert places == sorted(places)
    assert "Not sent: 1" in page


def test_a_message_that_is_joined_to_the_one_before_says_so(
    alice: Client, copied: Callable[[str], Path], data_dir: Path
) -> None:
    session = Session.objects.get(source=attached(copied("v1_abort_patch_only_anth")))

    page = alice.get(f"/sessions/{session.pk}/?order=sent").html

    assert [state for state, _ in rows_of(page)] == ["sent", "merged", "sent"]


def test_after_the_repair_the_losing_twin_is_shown_as_removed(alice: Client, blocked: Session) -> None:
    finding = Finding.objects.get(session=blocked, rule="duplicate-call-id-in-message")

    page = alice.get(f"/sessions/{blocked.pk}/?order=repaired").html

    states = {part: state for state, part in rows_of(page)}
    assert "removed" in {states[part] for part in finding.parts}
    assert "Removed by the repair: 1" in page
    assert set(states) == set(Part.objects.filter(session=blocked).values_list("stored_id", flat=True))


def test_a_healthy_session_has_nothing_to_compare(alice: Client, copied: Callable[[str], Path], data_dir: Path) -> None:
    session = Session.objects.get(source=attached(copied("clean")))

    page = alice.get(f"/sessions/{session.pk}/?order=repaired").html

    assert "No safe repair would change anything" in page


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_message_of_a_body_is_shown_and_every_part_it_names(protocol: str) -> None:
    """Over the sessions that the real client wrote: nothing of a request is left out of the sent order, nothing shown
    twice."""
    judged = 0
    for path in sorted(CORPUS.glob("*.db"))[::6]:
        with stores.open_store(path) as store:
            for rows in store.read_all():
                session = dialects.decode(rows)
                target = default_target(session, protocol, "auto")
                if target is None:
                    continue
                try:
                    body = bodies.body(session, target, repairs=False)
                except LoweringError:
                    continue
                order = sent_order(session, target)
                sent = next(body.body[key] for key in ("messages", "input", "contents") if key in body.body)
                assert {row.index for row in order.rows if row.index is not None} == set(range(len(sent)))
                named = {origin.part for origin in body.provenance.values() if origin.part}
                shown = {row.part for row in order.rows if row.state in ("sent", "merged")}
                left_out = [row.part for row in order.rows if row.state == "not-sent"]
                assert named <= shown
                assert not shown.intersection(left_out)
                assert len(left_out) == len(set(left_out))
                judged += 1
    assert judged > 20
