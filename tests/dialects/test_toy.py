"""A dialect that keeps lines of a file goes all the way, registered and nothing else touched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from sessions_app import stores
from sessions_app.domain import dialects, planning, rowdoc
from sessions_app.domain.repair import Edit, Operation, RowChange, inverted
from sessions_app.domain.weight import session_pieces, weigh
from sessions_app.domain.wish import Wish
from sessions_app.models import Line, Repair, Session
from sessions_app.selectors.rows import session_rows
from sessions_app.selectors.weight import session_weight
from sessions_app.services.actor import Actor
from sessions_app.services.repair.apply import repair_apply
from sessions_app.services.repair.undo import repair_undo
from sessions_app.stores.journal import Journal
from tests.commands.running import Suture
from tests.factories.corpus import NOW, attached
from tests.web.conftest import alice  # noqa: F401

from .toy import KIND, STORE, registered

pytestmark = pytest.mark.django_db(transaction=True)

HEAD = {"type": "session", "id": "toy_1", "title": "Two calls, one id", "time": 1_700_000_000_000}
USER = {"type": "user", "text": "look around", "model": "moonshot/kimi-x"}
ANSWER = {"type": "assistant", "text": "I look", "model": "moonshot/kimi-x"}
CALL = {"type": "tool", "call": "c1", "name": "bash", "input": {"command": "ls"}, "output": "a\nb"}
TWIN = {**CALL, "input": {"command": "pwd"}, "output": "/home"}
BROKEN = '{"type": "tool", "call": "c9", "na'
LINES = [*map(json.dumps, (HEAD, USER, ANSWER, CALL)), json.dumps(TWIN).replace(", ", " ,  "), BROKEN]
OTHER = [json.dumps({**HEAD, "id": "toy_2", "title": "Nothing wrong"}), json.dumps(USER), "", json.dumps(ANSWER)]


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    with registered():
        yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two sessions; a byte that is no UTF-8 in the last line."""
    file = tmp_path / "demo.jsonl"
    file.write_bytes("\n".join([*LINES, *OTHER, ""]).encode().replace(b"I look", b"I look\xe9"))
    return file


@pytest.fixture
def suture(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], data_dir: Path) -> Suture:
    return Suture(monkeypatch, capsys)


def test_its_file_opens_and_a_broken_line_is_a_fault_of_that_line(path: Path) -> None:
    with stores.open_store(path) as store:
        assert (store.kind, store.dialects, sorted(store.session_ids())) == ("toy-file", ("toy",), ["toy_1", "toy_2"])
        session = dialects.decode(store.read("toy_1"))

    assert [(message.kind, len(message.parts)) for message in session.messages] == [("user", 1), ("assistant", 4)]
    assert [(fault.id, fault.rule) for fault in session.faults] == [("demo.jsonl:6", "corrupt-json")]
    assert session.part("demo.jsonl:6") is not None
    assert rowdoc.parse(rowdoc.dump(session.rows)) == session.rows


def test_a_scan_finds_what_holds_for_it(path: Path, suture: Suture) -> None:
    ran = suture("scan", path, "--json")

    found = {session["id"]: session for session in ran.json["sessions"]}
    assert ran.code == 1
    assert ran.json["source"] == {**ran.json["source"], "kind": "toy-file", "dialects": ["toy"]}
    assert found["toy_1"]["health"] == "blocked"
    assert {finding["rule"]: finding["parts"] for finding in found["toy_1"]["findings"]} == {
        "duplicate-call-id-in-message": ["demo.jsonl:4", "demo.jsonl:5"],
        "corrupt-json": ["demo.jsonl:6"],
    }
    assert not found["toy_1"]["verdicts"]["openai-chat"]["accepted"]
    assert found["toy_2"]["health"] == "healthy"


def test_it_is_lowered_as_its_client_sends_it(path: Path, suture: Suture) -> None:
    body = suture("lower", path, "--session", "toy_1", "--target", "openai-chat", "--as-stored").json

    calls = [call["id"] for message in body["messages"] for call in message.get("tool_calls", ())]
    assert calls == ["c1", "c1"]


def test_a_repair_into_a_copy_changes_one_line(path: Path, suture: Suture, tmp_path: Path) -> None:
    before = path.read_bytes()
    copy = tmp_path / "copy.jsonl"

    ran = suture("repair", path, "--output", copy, "--json")

    lines, repaired = before.split(b"\n"), copy.read_bytes().split(b"\n")
    assert ran.code == 0, ran.err
    assert path.read_bytes() == before
    assert [number for number, pair in enumerate(zip(lines, repaired, strict=True), 1) if len(set(pair)) > 1] == [5]
    assert repaired[4] == lines[4].replace(b'"c1"', b'"c1_2"')
    assert suture("scan", copy, "--session", "toy_1").code == 0


def test_the_mirror_gives_back_every_line_and_the_timeline_shows_it(path: Path, alice: Client) -> None:  # noqa: F811
    source = attached(path)
    session = Session.objects.get(source=source, stored_id="toy_1")

    with source.open_store() as store:
        assert session_rows(session) == store.read("toy_1")
    assert (session.dialect, session.health, session.turn_count) == ("toy", "blocked", 1)
    page = alice.get(f"/sessions/{session.pk}/").html
    assert "Duplicate A (2 of 2)" in page
    assert "look around" in page
    assert 'id="at-demo.jsonl:6"' in page
    raw = alice.get(f"/sessions/{session.pk}/raw/").content.decode()
    assert "demo.jsonl:6" in raw
    assert "does not decode" not in raw


def test_it_is_weighed_of_the_mirror_as_of_the_file(path: Path, data_dir: Path) -> None:
    session = Session.objects.get(source=attached(path), stored_id="toy_1")
    decoded = dialects.decode(session_rows(session))

    assert session_weight(session).weight == weigh(session_pieces(decoded), session.part_count)
    assert session_weight(session).weight.size > 0


def test_every_page_of_its_session_opens(path: Path, alice: Client) -> None:  # noqa: F811
    session = Session.objects.get(source=attached(path), stored_id="toy_1")

    tabs = ("findings", "payload", "provider", "repairs", "raw", "handback", "details", "markdown", "repair")
    pages = [f"/sessions/{session.pk}/{tab}/" for tab in tabs]
    pages += [f"/parts/{part.pk}/{page}" for part in session.parts.all() for page in ("", "body")]
    pages += [
        f"/api/v1/sessions/{session.pk}{what}"
        for what in ("", "/timeline", "/findings", "/payload", "/verdicts", "/weight")
    ]
    assert {page: code for page in pages if (code := alice.get(page).status_code) != 200} == {}
    assert b"home" in alice.get("/search/?q=home").content


def test_its_rows_and_its_masked_bundle_are_read_again(path: Path, suture: Suture, tmp_path: Path) -> None:
    health = {}
    for form in ("rows", "bundle", "report"):
        made = tmp_path / f"{form}.json"
        ran = suture("export", path, "--session", "toy_1", "--as", form, "--as-stored", "--output", made)
        assert made.exists(), ran.err
        if form != "report":
            (session,) = suture("scan", made, "--json").json["sessions"]
            health[form] = session["health"]
    masked = (tmp_path / "bundle.json").read_text()
    assert health == {"rows": "blocked", "bundle": "blocked"}
    assert "look around" not in masked
    assert "/home" not in masked


def test_a_repair_of_the_mirrors_session_and_its_undo(path: Path, data_dir: Path) -> None:
    before = path.read_bytes()
    session = Session.objects.get(source=attached(path), stored_id="toy_1")
    wish = Wish(choices={"corrupt-json": "quarantine"})

    repair = repair_apply(session=session, wish=wish, actor=Actor("test"), now=NOW)

    session.refresh_from_db()
    assert session.health == "healthy"
    assert BROKEN.encode() not in path.read_bytes()
    assert Line.objects.filter(session=session).count() == 5
    repair_undo(repair=Repair.objects.get(pk=repair.pk), actor=Actor("test"), now=NOW)
    assert path.read_bytes() == before


def test_a_write_is_refused_where_the_client_wrote_meanwhile(path: Path) -> None:
    with stores.open_store(path) as store:
        plan = planning.plan(dialects.decode(store.read("toy_1")))
        path.write_bytes(path.read_bytes() + b'{"type": "user", "text": "more"}\n')
        with pytest.raises(stores.GuardRefused):
            store.apply(plan.changes, journal=None)


def test_lines_that_go_come_back_where_they_stood(path: Path) -> None:
    before = path.read_bytes()
    gone = ("demo.jsonl:3", "demo.jsonl:4", "demo.jsonl:6")
    with stores.open_store(path) as store:
        rows = store.read("toy_1")
        deletes = [Operation("delete", "part", part_id=part) for part in gone]
        changes = (*dialects.compile(rows, deletes), _inserted(rows.lines[4], 5.5))
        store.apply(changes, journal=None)
        assert dialects.rows_hash(store.read("toy_1")) == dialects.rows_hash(dialects.apply(rows, changes))

    with stores.open_store(path) as store:
        assert len(store.read("toy_1").lines) == len(rows.lines) - 2
        store.apply(inverted(changes), journal=None)
    assert path.read_bytes() == before


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("written", [False, True])
def test_after_a_crash_the_lines_tell_whether_the_write_happened(
    path: Path, tmp_path: Path, written: bool, hashed: bool
) -> None:
    journal = Journal(tmp_path / "journal")
    with stores.open_store(path) as store:
        rows = store.read("toy_1")
        deletes = [Operation("delete", "part", part_id=part) for part in ("demo.jsonl:2", "demo.jsonl:4")]
        edit = Operation("replace", "part", part_id="demo.jsonl:5", edits=(Edit(("callID",), "c2"),))
        changes = dialects.compile(rows, [*deletes, edit])
        before, after = (dialects.rows_hash(one) for one in (rows, dialects.apply(rows, changes)))
        journal.prepare(store, changes, stores.About(hashes={"toy_1": (before, after)} if hashed else {}))
        if written:
            store.apply(changes, journal=None)

    (recovery,) = journal.recover(stores.open_store)

    assert recovery.state == ("new" if written else "old")


def _inserted(neighbour: dict[str, object], number: float) -> RowChange:
    row = {**neighbour, "id": f"demo.jsonl:{number}", "line": number, "data": json.dumps({"type": "note"})}
    return RowChange("line", {"id": row["id"]}, None, row)


def test_what_only_opencode_has_is_refused_in_words(path: Path, suture: Suture) -> None:
    refused = suture("compact", path, "--session", "toy_1")

    assert refused.code == 1
    assert "writes no compactions into sessions of toy" in refused.err + refused.out


def test_without_its_registration_the_file_is_no_store(path: Path) -> None:
    stores.unregister(KIND)
    try:
        with pytest.raises(stores.StoreError):
            stores.open_store(path)
    finally:
        stores.register(STORE)
