"""From a blocked session to a repaired one and back, without JavaScript and with htmx."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from django.http import HttpResponse
from django.test import Client

from sessions_app.models import Finding, Repair, Session
from sessions_app.stores.sqlite import SqliteStore
from tests.factories.corpus import attached, session_of

pytestmark = pytest.mark.django_db(transaction=True)


def rows(path: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT * FROM part ORDER BY id").fetchall()


def hidden(page: str, action: str) -> dict[str, str]:
    """What the form sends that applies the plan that is shown."""
    forms = re.findall(rf'<form[^>]*method="post"[^>]*hx-post="{re.escape(action)}".*?</form>', page, re.DOTALL)
    form = next(form for form in forms if 'name="hash"' in form)
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form))


@pytest.fixture
def duplicate(blocked: Session) -> Finding:
    finding: Finding = Finding.objects.get(session=blocked, rule="duplicate-call-id-in-message")
    return finding


def test_a_preview_says_what_changes_for_the_model_and_writes_nothing(
    alice: Client, blocked: Session, duplicate: Finding
) -> None:
    before = rows(blocked.source.file)

    for view in ("conversation", "rows", "payload"):
        page = alice.get(f"/sessions/{blocked.pk}/repair/", {"finding": duplicate.key, "view": view}).html
        assert "After this repair" in page
        assert 'class="removed"' in page, view
    assert "Refuses" in page
    assert "Accepts" in page
    assert rows(blocked.source.file) == before


def test_applying_and_undoing_works_with_plain_forms(alice: Client, blocked: Session, duplicate: Finding) -> None:
    address = f"/sessions/{blocked.pk}/repair/"
    before = rows(blocked.source.file)
    fields = hidden(alice.get(address, {"finding": duplicate.key}).html, address)

    applied = alice.post(address, {**fields, "reason": "ticket 7"}, follow=True)

    repair = Repair.objects.get()
    assert applied.redirect_chain == [(f"/sessions/{blocked.pk}/?outcome={repair.public_id}", 302)]
    assert "Repaired: unknown call, turn 1 removed. The session is now " in applied.html
    assert repair.reason == "ticket 7"
    assert len(rows(blocked.source.file)) == len(before) - 1
    blocked.refresh_from_db()
    assert blocked.health != "blocked"

    undone = alice.post(f"/repairs/{repair.public_id}/undo/", follow=True)

    assert "Taken back" in undone.html
    assert rows(blocked.source.file) == before
    blocked.refresh_from_db()
    assert blocked.health == "blocked"


def test_the_card_of_the_timeline_repairs_its_finding_at_once(
    alice: Client, blocked: Session, duplicate: Finding
) -> None:
    address = f"/sessions/{blocked.pk}/repair/"
    fields = hidden(alice.get(f"/sessions/{blocked.pk}/").html, address)

    assert fields["finding"] == duplicate.key
    answer = alice.post(address, fields, headers={"HX-Request": "true", "HX-Target": "main"}, follow=True)

    assert answer.status_code == 200
    assert 'id="main"' in answer.html
    assert Repair.objects.get().state == "applied"


def test_a_session_that_changed_meanwhile_is_left_alone_and_the_change_is_told(
    alice: Client, blocked: Session, duplicate: Finding
) -> None:
    address = f"/sessions/{blocked.pk}/repair/"
    fields = hidden(alice.get(address, {"finding": duplicate.key}).html, address)
    with closing(sqlite3.connect(blocked.source.file)) as connection, connection:
        connection.execute("UPDATE part SET data = replace(data, 'plan', 'plot')")
    changed = rows(blocked.source.file)

    answer = alice.post(address, fields)

    assert answer.status_code == 409
    assert answer.html.count("Not applied") == 1
    assert "Not applied: the session changed meanwhile." in answer.html
    assert "Show the new plan" in answer.html and "What changed meanwhile" in answer.html
    assert rows(blocked.source.file) == changed
    assert not Repair.objects.filter(state="applied").exists()


def test_an_undo_that_would_overwrite_something_is_refused_with_what_changed(
    alice: Client, blocked: Session, duplicate: Finding
) -> None:
    address = f"/sessions/{blocked.pk}/repair/"
    alice.post(address, hidden(alice.get(address, {"finding": duplicate.key}).html, address))
    repair = Repair.objects.get()
    change = repair.changes.get().change
    with closing(sqlite3.connect(blocked.source.file)) as connection, connection:
        connection.execute(
            "INSERT INTO part SELECT ?, message_id, session_id, time_created, time_updated, data FROM part LIMIT 1",
            (change.key["id"],),
        )
    kept = rows(blocked.source.file)

    answer = alice.post(f"/repairs/{repair.public_id}/undo/")

    assert answer.status_code == 409
    assert "Not undone" in answer.html
    assert rows(blocked.source.file) == kept


def test_the_history_names_who_did_what_and_what_changed(alice: Client, blocked: Session, duplicate: Finding) -> None:
    address = f"/sessions/{blocked.pk}/repair/"
    alice.post(
        address,
        {
            **hidden(alice.get(address, {"finding": duplicate.key}).html, address),
            "reason": "for Bob",
        },
    )
    repair = Repair.objects.get()

    listed = alice.get("/repairs/", {"rule": "duplicate-call-id-in-message"}).html
    detail = alice.get(f"/repairs/{repair.public_id}/").html
    tab = alice.get(f"/sessions/{blocked.pk}/repairs/").html

    assert "duplicate-call-id-in-message" in listed
    assert "for Bob" in detail
    assert "Removed" in detail
    assert repair.public_id in tab
    assert "No repair matches" in alice.get("/repairs/", {"rule": "stuck-tool"}).html


def test_a_choice_of_none_leaves_the_finding_alone(alice: Client, blocked: Session, duplicate: Finding) -> None:
    page = alice.get(
        f"/sessions/{blocked.pk}/repair/", {"finding": duplicate.key, f"choice.{duplicate.key}": "none"}
    ).html

    assert "Nothing would be changed" in page
    assert "left alone on request" in page


def test_the_payload_tab_shows_the_refusal_and_leads_to_the_part(
    alice: Client, blocked: Session, duplicate: Finding
) -> None:
    page = alice.get(f"/sessions/{blocked.pk}/payload/").html
    fixed = alice.get(f"/sessions/{blocked.pk}/payload/", {"fixes": "on"}).html

    assert "Duplicate value for &#x27;tool_call_id&#x27;" in page
    assert any(f"?at={part}" in page for part in duplicate.parts)
    assert "Accepted" in fixed
    for protocol in ("anthropic-messages", "openai-responses", "gemini", "bedrock-converse"):
        assert alice.get(f"/sessions/{blocked.pk}/payload/", {"protocol": protocol}).status_code == 200


def test_what_comes_first_is_said_and_its_payload_is_shown(alice: Client, tmp_path: Path) -> None:
    session = session_of("compact_killed", tmp_path)
    page = alice.get(f"/sessions/{session.pk}/").html
    turn = alice.get(f"/sessions/{session.pk}/payload/").html
    summary = alice.get(f"/sessions/{session.pk}/payload/", {"summary": "1"}).html

    assert "the client first sends a summary request" in page
    assert "Summary, sent first" in turn and "Here is the conversation so far" not in turn
    assert re.search(r'aria-current="true"\s*>\s*Summary, sent first', summary)
    first = alice.get(f"/sessions/{session.pk}/payload/", {"summary": "1", "download": "1"})
    assert "Here is the conversation so far" in first.content.decode()
    assert alice.get(f"/sessions/{session.pk}/payload/", {"summary": "yes"}).status_code == 422


def test_the_command_holds_no_key_and_names_the_downloaded_file(alice: Client, blocked: Session) -> None:
    page = alice.get(f"/sessions/{blocked.pk}/payload/").html

    assert "$OPENAI_API_KEY" in page
    assert "payload-openai-chat.json" in page
    download = alice.get(f"/sessions/{blocked.pk}/payload/?download=1")
    assert download.json()["messages"][0]["role"] == "system"


def test_a_pasted_error_lands_on_the_part(alice: Client, blocked: Session, duplicate: Finding) -> None:
    text = "Duplicate value for 'tool_call_id' of functions.todowrite:1 in message[4]"

    def pasted(**given: str) -> str:
        return alice.post("/locate/", given, follow=True).content.decode()

    with_session = pasted(error=text, session=blocked.stored_id)

    assert any(f"?at={part}" in with_session for part in duplicate.parts)
    assert f'href="/sessions/{blocked.pk}/' in pasted(error=text)
    assert "Not recognised" in pasted(error="the cat sat on the mat")


def test_the_files_of_a_repair_are_named_so_that_a_person_finds_them(
    alice: Client, blocked: Session, duplicate: Finding
) -> None:
    address = f"/sessions/{blocked.pk}/repair/"
    alice.post(address, hidden(alice.get(address, {"finding": duplicate.key}).html, address))

    detail = alice.get(f"/repairs/{Repair.objects.get().public_id}/").html

    assert Path(blocked.source.file).name in detail


def test_a_session_that_only_a_choice_unblocks_says_so_and_leads_to_it(
    alice: Client, copied: Callable[[str], Path], data_dir: Path
) -> None:
    session = Session.objects.get(source=attached(copied("think_nosig_tool")))

    page = alice.get(f"/sessions/{session.pk}/").html
    safe = alice.get(f"/sessions/{session.pk}/repair/").html
    lossy = alice.get(f"/sessions/{session.pk}/repair/?safety=lossy").html

    assert "What blocks it needs your choice" in page
    assert page.count('type="radio"') == 2 and "drops something" in page
    assert "the session stays blocked" in safe and 'href="?safety=lossy"' in safe
    assert "stays blocked" not in lossy


def test_a_refusal_beside_the_part_at_fault_is_laid_to_its_finding(
    alice: Client, copied: Callable[[str], Path], data_dir: Path
) -> None:
    session = Session.objects.get(source=attached(copied("think_nosig_tool")))
    finding = Finding.objects.get(session=session, rule="thinking-unsigned")
    at = finding.parts[0]

    page = alice.get(f"/sessions/{session.pk}/", {"at": at}).html
    who = page[page.index('class="refusal"') : page.index('class="fix"')]

    assert "Anthropic refuses it" in who and "Expected `thinking`" in who
    assert "Refuses for another reason" not in who


def test_the_steps_of_a_plan_say_what_is_done_where_and_why(
    alice: Client, blocked: Session, duplicate: Finding
) -> None:
    page = alice.get(f"/sessions/{blocked.pk}/repair/", {"finding": duplicate.key}).html
    steps = re.search(r'<ol class="steps">(.*?)</ol>', page, re.DOTALL)
    assert steps is not None
    assert any(f'title="{part}"' in steps[1] for part in duplicate.parts)
    assert re.match(r"\s*<li>Remove <a [^>]*>unknown call, turn 1</a>: a more informative part", steps[1])


def test_a_repair_that_was_taken_back_no_longer_counts_as_repaired(
    alice: Client, blocked: Session, duplicate: Finding
) -> None:
    alice.post(f"/sessions/{blocked.pk}/repair/", {"finding": duplicate.key})
    blocked.refresh_from_db()
    assert blocked.repaired_at is not None

    alice.post(f"/repairs/{Repair.objects.get().public_id}/undo/")
    blocked.refresh_from_db()
    assert blocked.repaired_at is None


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Every opening of a database of the agent's."""
    found: list[Path] = []
    opened = SqliteStore.__init__

    def counted(store: SqliteStore, path: Path) -> None:
        found.append(path)
        opened(store, path)

    monkeypatch.setattr(SqliteStore, "__init__", counted)
    return found


def test_each_step_of_a_repair_opens_its_store_once(
    alice: Client, blocked: Session, duplicate: Finding, openings: list[Path]
) -> None:
    address = f"/sessions/{blocked.pk}/repair/"
    counts = []

    def counted(answer: HttpResponse) -> str:
        counts.append(len(openings))
        openings.clear()
        return answer.content.decode()

    page = counted(alice.get(address, {"finding": duplicate.key}))
    counted(alice.get(address, {"finding": duplicate.key, "view": "rows"}))
    counted(alice.get(f"/sessions/{blocked.pk}/", {"order": "repaired"}))
    counted(alice.post(address, hidden(page, address)))
    counted(alice.post(f"/repairs/{Repair.objects.get().public_id}/undo/"))

    assert counts == [1, 1, 1, 1, 1]


def test_a_rule_that_nobody_knows_is_told_and_nothing_is_planned(alice: Client, blocked: Session) -> None:
    answer = alice.get(f"/sessions/{blocked.pk}/repair/", {"rule": "duplicate-call-id-in-mesage"})

    page = answer.content.decode()
    assert answer.status_code == 422
    assert "did you mean duplicate-call-id-in-message" in page
    assert "After this repair" not in page


def test_the_history_lists_the_full_backups_and_how_each_is_put_back(alice: Client, blocked: Session) -> None:
    assert "Full backups" not in alice.get("/repairs/").html
    alice.post(f"/sessions/{blocked.pk}/repair/", {"reason": "x"})
    backup = Repair.objects.get().backup_path

    page = alice.get("/repairs/").html

    assert f"suture restore {backup} {blocked.source.path}" in page
