"""The session page: what it opens on, the ways of a card, what an action's bar says, handing back, comparing twins."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from django.test import Client

from sessions_app.models import Finding, Repair, Session
from sessions_app.web.views import session as session_page
from tests.factories.corpus import attached, session_of
from tests.web.test_repair import rows

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def choice(copied: Callable[[str], Path], data_dir: Path, db: None) -> Session:
    """Two ways, both drop something."""
    found: Session = Session.objects.get(source=attached(copied("think_nosig_tool")))
    return found


def card(page: str) -> str:
    """The fault that is shown."""
    return re.sub(r"\s+", " ", page.partition('id="finding"')[2].partition("</article>")[0])


def fields(page: str) -> dict[str, str]:
    """What the card's form sends as it stands."""
    form = card(page).partition('class="fix"')[0] + card(page).partition('class="fix"')[2].partition("</form>")[0]
    sent = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form))
    chosen = re.search(r'type="radio" name="([^"]+)" value="([^"]+)" required checked', form)
    return sent | ({chosen[1]: chosen[2]} if chosen else {})


def test_it_opens_on_the_first_fault_that_is_repaired_safely_and_counts_from_it(alice: Client, choice: Session) -> None:
    late = choice.parts.order_by("-position")[0]
    Finding.objects.create(
        session=choice, key="stuck-tool:late", rule="stuck-tool", severity="blocked", safety="safe",
        parts=[late.stored_id], summary="Late and safe", line="Late and safe", position=99,
    )  # fmt: skip
    Finding.objects.create(
        session=choice, key="stuck-tool:risk", rule="stuck-tool", severity="at-risk", safety="safe", parts=[],
        summary="Only at risk", line="Only at risk", position=0,
    )  # fmt: skip

    shown = card(alice.get(f"/sessions/{choice.pk}/").html)

    assert "Late and safe" in shown and "1 of " in shown


def test_an_ignored_fault_is_not_what_it_opens_on(alice: Client, choice: Session) -> None:
    first = Finding.objects.filter(session=choice, severity="blocked").order_by("position", "id")[0]
    alice.post(f"/sessions/{choice.pk}/ignore/", {"finding": first.key, "reason": "known"})

    assert first.line not in card(alice.get(f"/sessions/{choice.pk}/").html)


def test_ways_are_radios_with_their_short_difference_and_how_the_session_would_stand(
    alice: Client, choice: Session
) -> None:
    shown = card(alice.get(f"/sessions/{choice.pk}/").html)

    assert "<legend>Choose a repair</legend>" in shown
    ways = shown.split('<div class="way">')[1:]
    assert len(ways) == 2
    for way in ways:
        assert 'type="radio"' in way and "required" in way and "drops something" in way
        assert 1 <= len(re.findall(r'class="(?:removed|added)"', way)) <= 3
        assert "After this Anthropic accepts the next message." in way
    assert "bash call, turn 1" in ways[0] and "and 1 more row" in ways[0]
    assert [("checked" in way) for way in ways] == [True, False]


def test_one_safe_way_is_stated_and_posts_its_choice_and_hash(alice: Client, blocked: Session) -> None:
    page = alice.get(f"/sessions/{blocked.pk}/?list=health%3Dblocked").html
    sent = fields(page)

    assert "Keep <a" in card(page) and ", remove <a" in card(page) and 'type="radio"' not in card(page)
    assert sent["hash"] == blocked.rows_hash and sent["list"] == "health=blocked"
    assert sent[f"choice.{sent['finding']}"] == "dedupe"


def test_a_manual_fault_has_no_way_chosen(alice: Client, tmp_path: Path, data_dir: Path) -> None:
    for name in ("v1_noparts_chat", "think_nosig_tool"):
        session = session_of(name, tmp_path / name)
        for finding in Finding.objects.filter(session=session, safety="manual"):
            box = alice.get(f"/sessions/{session.pk}/ways/", {"finding": finding.key}).html
            assert "checked" not in box
            assert 'type="radio"' in box or "Nothing can be changed" in box


def test_the_card_repairs_by_the_chosen_way_and_refuses_a_changed_session(alice: Client, choice: Session) -> None:
    address = f"/sessions/{choice.pk}/repair/"
    sent = fields(alice.get(f"/sessions/{choice.pk}/").html)
    with closing(sqlite3.connect(choice.source.file)) as connection, connection:
        connection.execute("UPDATE part SET data = replace(data, '\"go\"', '\"went\"')")
    changed = rows(choice.source.file)

    refused = alice.post(address, sent)

    assert refused.status_code == 409 and rows(choice.source.file) == changed
    assert refused.html.count("Not applied") == 1 and "Show the new plan" in refused.html
    applied = alice.post(address, fields(alice.get(f"/sessions/{choice.pk}/").html), follow=True)
    made = Repair.objects.get(state="applied")
    assert made.words == "thinking, turn 1 removed; bash call, turn 1 changed; answer 2, turn 1 removed"
    assert f"Repaired: {made.words}. The session is now " in applied.html and "Hand back" in applied.html
    assert made.choices and set(made.choices.values()) == {"to-text"}


def test_an_undone_repair_is_applied_again_with_the_same_choices(alice: Client, choice: Session) -> None:
    here = f"/sessions/{choice.pk}/?list=health%3Dblocked"
    sent = fields(alice.get(here).html)
    alice.post(f"/sessions/{choice.pk}/repair/", sent)
    made = Repair.objects.get()
    after = rows(choice.source.file)

    undone = alice.post(f"/repairs/{made.public_id}/undo/", {"next": here}, follow=True)
    assert "Taken back" in undone.html and "list=health" in undone.redirect_chain[0][0]
    again = undone.html.partition('id="outcome"')[2].partition("Apply again")[0]
    alice.post(
        f"/sessions/{choice.pk}/repair/", dict(re.findall(r'name="([^"]+)" value="([^"]*)"', again)), follow=True
    )

    assert rows(choice.source.file) == after
    assert Repair.objects.filter(state="applied", undoes=None).get().choices == made.choices


def test_a_session_that_stays_blocked_says_so_first_and_leads_to_the_next_fault(alice: Client, choice: Session) -> None:
    made = Repair.objects.create(
        session=choice, source=choice.source, session_stored_id=choice.stored_id, path="x", state="applied",
        words="bash call 2, turn 1 changed", verification={"health": "blocked"}, created_at="2026-11-30T00:00Z",
    )  # fmt: skip

    bar = alice.get(f"/sessions/{choice.pk}/?outcome={made.public_id}").html.partition('id="outcome"')[2]

    assert "Still blocked. Repaired: bash call 2, turn 1 changed." in re.sub(r"\s+", " ", bar)
    assert "Next fault" in bar and "Next blocked session" not in bar


def test_ways_of_a_long_session_are_fetched_and_a_safe_repair_is_offered_at_once(
    alice: Client, blocked: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_page, "INLINE_PARTS", 1)

    shown = card(alice.get(f"/sessions/{blocked.pk}/").html)
    worked = card(alice.get(f"/sessions/{blocked.pk}/?ways=1").html)

    fetched = re.search(r'hx-get="(/sessions/\d+/ways/[^"]+)" hx-trigger="load"', shown)
    assert fetched and "Apply" in shown and "Work out what changes" in shown and "short-diff" not in shown
    assert "short-diff" in worked
    assert "short-diff" in alice.get(fetched[1].replace("&amp;", "&")).html


def test_who_may_only_look_sees_the_ways_and_no_button(victor: Client, blocked: Session) -> None:
    shown = card(victor.get(f"/sessions/{blocked.pk}/").html)

    assert "short-diff" in shown and "Full preview" in shown
    assert "Apply" not in shown and "not apply them" in shown


def test_the_preview_of_a_way_is_an_address_without_the_forms_token(alice: Client, choice: Session) -> None:
    sent = fields(alice.get(f"/sessions/{choice.pk}/").html) | {"preview": "1", "csrfmiddlewaretoken": "x"}

    answer = alice.post(f"/sessions/{choice.pk}/repair/", sent)

    assert answer.status_code == 302 and "finding=" in answer["Location"] and "choice." in answer["Location"]
    assert "token" not in answer["Location"] and not Repair.objects.exists()


def test_a_card_has_a_text_for_the_ticket_and_the_way_to_others_like_it(alice: Client, blocked: Session) -> None:
    shown = card(alice.get(f"/sessions/{blocked.pk}/").html)

    ticket = shown.partition('aria-label="Text for a ticket"')[2].partition("</pre>")[0]
    assert "**Two " in ticket and "OpenAI Chat refuses it" in ticket and "Rule `duplicate-call-id-in-message`" in ticket
    assert 'href="/bulk/?rule=duplicate-call-id-in-message"' in shown


def test_faults_of_one_kind_are_applied_together(alice: Client, tmp_path: Path, data_dir: Path) -> None:
    session = session_of("dup_id_slow", tmp_path)
    Finding.objects.create(
        session=session, key="duplicate-call-id-in-message:x", rule="duplicate-call-id-in-message",
        severity="at-risk", safety="safe", parts=[], summary="Another", line="Another", position=9,
    )  # fmt: skip

    shown = card(alice.get(f"/sessions/{session.pk}/").html)

    assert "Apply to all 2 like this" in shown
    alice.post(f"/sessions/{session.pk}/repair/", {"rule": "duplicate-call-id-in-message", "safety": "safe"})
    assert Repair.objects.get().rules == ["duplicate-call-id-in-message"]


def test_unlike_twins_are_compared_side_by_side(alice: Client, blocked: Session) -> None:
    page = alice.get(f"/sessions/{blocked.pk}/").html
    link = re.search(rf'href="(/sessions/{blocked.pk}/compare/[^"]+)"', page)
    assert link is not None and "also at <a" in re.sub(r"\s+", " ", page)

    beside = alice.get(link[1].replace("&amp;", "&")).html

    assert 'class="removed"' in beside and 'class="added"' in beside
    assert "call, turn 1</th>" in beside
    assert alice.get(f"/sessions/{blocked.pk}/compare/?part=prt_none&other=prt_none").status_code == 404


def test_the_head_says_who_refuses_and_what_can_be_done_and_nothing_about_others(
    alice: Client, blocked: Session, choice: Session
) -> None:
    def sentence(session: Session) -> str:
        page = alice.get(f"/sessions/{session.pk}/").html
        return re.sub(r"\s+", " ", page.partition('class="head-sentence">')[2].partition("</p>")[0]).strip()

    assert sentence(blocked) == "OpenAI Chat refuses the next message. The fault can be repaired safely."
    assert sentence(choice) == "Anthropic Messages refuses the next message. What blocks it needs your choice."


def test_hand_back_says_the_state_of_every_file_before_it_is_taken(alice: Client, choice: Session) -> None:
    page = re.sub(r"\s+", " ", alice.get(f"/sessions/{choice.pk}/handback/").html)
    lossy = re.sub(r"\s+", " ", alice.get(f"/sessions/{choice.pk}/handback/?level=lossy").html)

    assert "With the safe repairs" not in page, "it changes nothing more"
    assert "Whoever gets these files still cannot go on" in page and "Choose a repair first" in page
    assert "it would be empty" in page and "as=patch" not in page
    assert "Healthy" in lossy and "Says both: blocked, as stored; healthy" in lossy
    assert "Turn the calls and their results into text" in lossy and "as=patch" in lossy


def test_hand_back_holds_the_repairs_that_were_chosen_on_the_preview(alice: Client, choice: Session) -> None:
    finding = Finding.objects.filter(session=choice, severity="blocked").order_by("position", "id")[0]
    given = {"finding": finding.key, f"choice.{finding.key}": "remove-answer"}
    names = re.findall(
        rf'name="choice.{re.escape(finding.key)}" value="([^"]+)"', alice.get(f"/sessions/{choice.pk}/").html
    )
    given[f"choice.{finding.key}"] = names[-1]

    page = alice.get(f"/sessions/{choice.pk}/handback/", given).html

    assert "With the repairs you chose" in page
    assert f"choice={finding.key.replace(':', '%3A')}%3D{names[-1]}" in page


def test_the_export_of_a_parent_is_offered_with_its_subagents(alice: Client, tmp_path: Path, data_dir: Path) -> None:
    session_of("subagent_kill", tmp_path)
    parent = Session.objects.get(parent_stored_id="")

    plain = alice.get(f"/sessions/{parent.pk}/handback/").html
    ticked = alice.get(f"/sessions/{parent.pk}/handback/?children=yes").html

    assert "Export with the sessions of its subagents" in plain and "children=true" not in plain
    assert "children=true" in ticked
