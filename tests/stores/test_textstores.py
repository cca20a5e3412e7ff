"""Exports and row documents: rows keep their text, and go back into the file in its own shape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessions_app.domain import rowdoc
from sessions_app.domain.repair import RowChange
from sessions_app.stores import About, GuardRefused, StoreError, open_bytes, open_store
from sessions_app.stores.journal import Journal
from tests.each import for_each, stem
from tests.paths import CASES, CORPUS

from .conftest import replaced

EXPORTS = sorted(path for path in CORPUS.glob("*.json") if path.name != "index.json")


@pytest.fixture
def export(corpus_copy) -> Path:
    return corpus_copy("dup_id_slow.json")


@for_each("path", EXPORTS, name=stem, one_in=4)
def test_an_export_with_every_row_changed_and_undone_is_byte_for_byte_the_same(
    path: Path, tmp_path: Path, journal: Journal
) -> None:
    copy = tmp_path / "session.json"
    copy.write_bytes(path.read_bytes())
    with open_store(copy) as store:
        (rows,) = store.read_all()
        changes = [
            replaced(row, table, data=row["data"][:-1] + " }")
            for table, of in (("part", rows.parts), ("message", rows.messages))
            for row in of
        ]
        changes.append(replaced(rows.session, "session", title="other"))
        done = store.apply(changes, journal=journal)
        changed = json.loads(copy.read_bytes())
        store.apply(journal.get(done.entry_id).inverse, journal=journal, about=About(undoes=done.entry_id))

    original = json.loads(path.read_bytes())
    original["info"]["title"] = "other"
    assert changed == original
    assert copy.read_bytes().strip() == path.read_bytes().strip()


def test_rows_of_an_export_keep_their_text_without_the_ids(export: Path) -> None:
    text = export.read_text()
    with open_store(export) as store:
        (rows,) = store.read_all()
    tool = next(row for row in rows.parts if '"tool"' in row["data"])

    assert "sessionID" not in tool["data"]
    assert "messageID" not in tool["data"]
    middle = tool["data"][tool["data"].index('"state"') : tool["data"].rindex("}") - 12]
    assert middle in text


def test_parts_and_messages_can_be_deleted_and_put_in(export: Path, journal: Journal) -> None:
    with open_store(export) as store:
        (rows,) = store.read_all()
        message, part = rows.messages[0], rows.parts[-1]
        changes = [
            RowChange("part", {"id": part["id"]}, part, None),
            *(
                RowChange("part", {"id": row["id"]}, row, None)
                for row in rows.parts
                if row["message_id"] == message["id"]
            ),
            RowChange("message", {"id": message["id"]}, message, None),
            RowChange(
                "message",
                {"id": "msg_zz"},
                None,
                {
                    **message,
                    "id": "msg_zz",
                    "data": '{"role":"user","time":{"created":9999999999999}}',
                    "time_created": 9999999999999,
                    "time_updated": 9999999999999,
                },
            ),
            RowChange(
                "part",
                {"id": "prt_zz"},
                None,
                {
                    **part,
                    "id": "prt_zz",
                    "message_id": "msg_zz",
                    "data": '{"type":"text","text":"x"}',
                    "time_created": 9999999999999,
                    "time_updated": 9999999999999,
                },
            ),
        ]
        done = store.apply(changes, journal=journal)
        written = json.loads(export.read_text())
        assert [found["info"]["id"] for found in written["messages"]] == [row["id"] for row in rows.messages[1:]] + [
            "msg_zz"
        ]
        assert written["messages"][-1]["parts"] == [
            {"type": "text", "text": "x", "id": "prt_zz", "sessionID": rows.id, "messageID": "msg_zz"}
        ]
        store.apply(journal.get(done.entry_id).inverse, journal=journal)
        (back,) = store.read_all()

    assert rowdoc.rows_hash(back) == rowdoc.rows_hash(rows)


def test_chatter_is_left_out_of_what_is_written(export: Path) -> None:
    export.write_text("Exporting session: ses_1\n" + export.read_text())
    with open_store(export) as store:
        (rows,) = store.read_all()
        store.apply([replaced(rows.session, "session", title="t")], journal=None)

    assert json.loads(export.read_text())["info"]["title"] == "t"


def test_an_export_that_another_program_rewrote_is_not_overwritten(export: Path, journal: Journal) -> None:
    with open_store(export) as store:
        (rows,) = store.read_all()
        export.write_text(export.read_text() + "\n")
        with pytest.raises(GuardRefused, match="changed since it was opened"):
            store.apply([replaced(rows.parts[0], data="{}")], journal=journal)


def test_an_unknown_member_of_the_session_is_kept_through_the_rows() -> None:
    export = {
        "info": {"id": "ses_1", "future": {"a": [1, 2]}, "time": {"created": 1, "updated": 2, "odd": True}},
        "messages": [],
    }

    with open_bytes(json.dumps(export).encode()) as store:
        row = store.read("ses_1").session

    assert (row["future"], row["time.odd"], row["time_updated"]) == ('{"a": [1, 2]}', "true", 2)


def test_objects_without_an_id_and_things_that_are_no_objects_are_kept_and_reported() -> None:
    export = {
        "info": {"id": "ses_1"},
        "messages": [{"info": {"role": "user"}, "parts": [{"type": "text"}, 7]}, "junk"],
    }

    with open_bytes(json.dumps(export).encode()) as store:
        rows = store.read("ses_1")
        problems = {problem.where for problem in store.problems}

    assert {row["id"] for row in rows.messages} == {"messages[0]", "messages[1]"}
    assert {row["data"] for row in rows.parts} == {'{"type": "text"}', "7"}
    assert {"messages[0]", "messages[0].parts[0]", "messages[0].parts[1]", "messages[1]"} <= problems


def test_a_second_part_with_the_same_id_is_kept_under_its_place() -> None:
    part = {"id": "prt_1", "type": "text", "text": "x"}
    export = {"info": {"id": "ses_1"}, "messages": [{"info": {"id": "msg_1"}, "parts": [part, part]}]}

    with open_bytes(json.dumps(export).encode()) as store:
        assert {row["id"] for row in store.read("ses_1").parts} == {"prt_1", "messages[0].parts[1]"}
        assert len(store.problems) == 1


def test_an_export_does_not_hold_v2_rows_or_projects(export: Path, journal: Journal) -> None:
    with open_store(export) as store:
        (rows,) = store.read_all()
        for change in (
            RowChange("project", {"id": "p"}, None, {"id": "p"}),
            RowChange("session", {"id": rows.id}, rows.session, None),
        ):
            with pytest.raises(GuardRefused, match="does not hold"):
                store.apply([change], journal=journal)


def test_stdin_cannot_be_written_in_place(export: Path, journal: Journal) -> None:
    with open_bytes(export.read_bytes()) as store:
        (rows,) = store.read_all()
        with pytest.raises(StoreError) as caught:
            store.apply([replaced(rows.parts[0], data="{}")], journal=journal)
    assert caught.value.kind == "read-only"


def test_lone_surrogates_and_bytes_that_are_not_utf8_survive_a_rewrite(tmp_path: Path, journal: Journal) -> None:
    path = tmp_path / "s.json"
    raw = (
        b'{"info":{"id":"ses_1"},"messages":[{"info":{"id":"msg_1"},"parts":[{"id":"prt_1","text":"\\ud83d'
        b' \xff"},{"id":"prt_2","n":1.0}]}]}\n'
    )
    path.write_bytes(raw)
    with open_store(path) as store:
        rows = store.read("ses_1")
        assert rows.parts[1]["data"] == '{"n":1.0}'
        store.apply([replaced(rows.parts[1], data='{"n":2.0}')], journal=journal)

    assert path.read_bytes() == raw.replace(b"1.0", b"2.0")


def test_a_row_document_is_written_back_with_what_else_it_holds(tmp_path: Path, journal: Journal) -> None:
    case = json.loads(next(iter(sorted(CASES.glob("*.json")))).read_text())["input"]
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({**case, "target": {"provider": "x"}}))
    with open_store(path) as store:
        (rows,) = store.read_all()
        done = store.apply([replaced(rows.parts[0], data='{"type":"text","text":"new"}')], journal=journal)
        assert json.loads(path.read_text())["target"] == {"provider": "x"}
        store.apply(journal.get(done.entry_id).inverse, journal=journal)

    assert rowdoc.parse(json.dumps(case)) == rowdoc.parse(path.read_text())


def test_row_documents_a_line_each_are_sessions_and_only_the_changed_line_is_rewritten(
    tmp_path: Path, journal: Journal
) -> None:
    lines = [
        json.dumps(
            {
                "session": {"id": f"ses_{n}"},
                "messages": [{"id": f"msg_{n}", "session_id": f"ses_{n}", "data": "{ }", "parts": []}],
            }
        )
        for n in range(3)
    ]
    path = tmp_path / "rows.ndjson"
    path.write_text("\n".join(lines) + "\n")
    with open_store(path) as store:
        assert store.kind == "rows"
        message = store.read("ses_1").messages[0]
        store.apply([replaced(message, "message", data="{}")], journal=journal)

    written = path.read_text().splitlines()
    assert (written[0], written[2]) == (lines[0], lines[2])
    assert rowdoc.parse(written[1]).messages[0]["data"] == "{}"


def test_a_row_document_with_a_fault_says_where() -> None:
    with pytest.raises(StoreError, match=r"messages\[0\]"):
        open_bytes(b'{"session":{"id":"s"},"messages":[{"data":"{}"}]}')


def test_what_changed_in_a_file_is_told_by_session(export: Path, journal: Journal) -> None:
    with open_store(export) as store:
        mark = store.mark()
        (rows,) = store.read_all()
        assert store.changed_since(mark).changed == ()
        store.apply([replaced(rows.parts[0], data="{}")], journal=journal)
        assert store.changed_since(mark).changed == (rows.id,)
