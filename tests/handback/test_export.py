"""Exports under fresh ids: consistent references, the same conversation, nothing that the client's import refuses."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from sessions_app import stores
from sessions_app.domain import dialects
from sessions_app.domain.handback.freshids import message_stamps, renamed
from sessions_app.domain.ids import stamp_of
from sessions_app.domain.lowering import lower
from sessions_app.domain.model import SessionRows
from sessions_app.domain.rowdoc import parse_value
from sessions_app.domain.wire.target import infer_target
from sessions_app.services.handback.exportdoc import NotExportable, export_documents
from tests.paths import CORPUS


def rows_of(name: str) -> SessionRows:
    with stores.open_store(CORPUS / name) as store:
        return next(store.read_all())


def exported(rows: SessionRows, **options: Any) -> dict[str, Any]:
    return json.loads(export_documents([rows], **options)[0].text)


@pytest.mark.parametrize(
    "name",
    ["clean.db", "compact_ok.db", "dup_id_slow.db", "think_clean.db"],
)
def test_a_fresh_export_holds_the_same_conversation(name: str, tmp_path: Path) -> None:
    rows = rows_of(name)
    path = tmp_path / "export.json"
    path.write_text(export_documents([rows])[0].text, "utf-8")

    with stores.open_store(path) as store:
        again = next(store.read_all())

    before, after = dialects.decode(rows), dialects.decode(again)
    target = infer_target(before)
    assert target is not None
    assert _without_ids(lower(after, target)) == _without_ids(lower(before, target))
    assert after.id != before.id
    assert not {message.id for message in before.messages} & {message.id for message in after.messages}


def test_a_tree_of_1_0_is_exported_whole_once_it_is_repaired(suture, tmp_path: Path) -> None:
    """Its messages lack a field that the client asks for now; the safe repair fills it from the session."""
    tree = CORPUS / "compact_ok@1.0.152.storage.tgz"
    count = len(rows_of(tree.name).messages)

    made = suture("export", tree, "--as", "export", "--output", tmp_path / "export.json")

    assert made.code == 0, made.err
    assert "Left out" not in made.err
    assert len(json.loads((tmp_path / "export.json").read_text("utf-8"))["messages"]) == count


def _without_ids(lowered: Any) -> list[dict[str, Any]]:
    return [{key: value for key, value in message.items() if key != "id"} for message in lowered.messages]


def test_every_reference_inside_the_session_follows() -> None:
    rows = rows_of("v1_comp_tail_asst_chat.db")

    (new,), names = renamed([rows])

    known = {row["id"] for row in new.messages}
    data = [json.loads(row["data"]) for row in new.messages]
    assert {message["parentID"] for message in data if "parentID" in message} <= known
    tails = [json.loads(row["data"]).get("tail_start_id") for row in new.parts]
    assert {tail for tail in tails if tail} and {tail for tail in tails if tail} <= known
    assert names[rows.id] == new.session["id"]
    assert {row["session_id"] for row in (*new.messages, *new.parts)} == {new.session["id"]}


def test_a_pending_revert_names_the_new_message() -> None:
    rows = rows_of("revert_part.db")
    old = json.loads(rows.session["revert"])

    (new,), names = renamed([rows])

    revert = json.loads(new.session["revert"])
    assert revert["messageID"] == names[old["messageID"]]
    assert revert.get("partID") == names.get(old.get("partID"), old.get("partID"))


def test_a_subagent_and_the_call_that_started_it_stay_together() -> None:
    with stores.open_store(CORPUS / "subagent_kill.db") as store:
        family = sorted(store.read_all(), key=lambda rows: rows.session["parent_id"] is not None)

    new, names = renamed(family)

    assert new[1].session["parent_id"] == new[0].session["id"] == names[family[0].id]
    named = [json.loads(row["data"]).get("state", {}).get("metadata", {}).get("sessionId") for row in new[0].parts]
    assert new[1].session["id"] in named


def test_what_a_tool_said_is_not_rewritten() -> None:
    document = _document()
    document["messages"][0]["parts"][0]["data"] = json.dumps(
        {
            "type": "tool",
            "tool": "task",
            "callID": "c",
            "state": {"status": "completed", "input": {"taskID": "msg_1"}, "output": "msg_1"},
        }
    )

    (new,), _ = renamed([parse_value(document)])

    assert json.loads(new.parts[0]["data"])["state"]["input"] == {"taskID": "msg_1"}


def test_bytes_that_name_no_id_stay() -> None:
    document = _document()
    odd = '{ "type":"text",  "text":"\\ud83d \\u0000", "big":12345678901234567890, "text2":"a" , "time":{"start":1}}'
    document["messages"][0]["parts"][0]["data"] = odd

    (new,), _ = renamed([parse_value(document)])

    assert new.parts[0]["data"] == odd


def test_the_same_rows_get_the_same_ids_and_repaired_rows_others() -> None:
    rows = rows_of("clean.db")
    changed = rows_of("clean.db")
    changed.parts[1]["data"] += " "

    assert renamed([rows])[1] == renamed([rows_of("clean.db")])[1]
    assert not set(renamed([rows])[1].values()) & set(renamed([changed])[1].values())


def test_ids_ascend_in_the_order_the_client_replays() -> None:
    for name in ("idwrap_before@1.18.33.db", "idwrap_before@1.2.1.db", "retry_text.db"):
        (new,), _ = renamed([rows_of(name)])
        ids = [row["id"] for row in new.messages]
        assert ids == sorted(ids), name
        for message_id in ids:
            parts = [row["id"] for row in new.parts if row["message_id"] == message_id]
            assert parts == sorted(parts)


def test_ids_from_before_a_wrap_lie_below_what_the_client_mints_next() -> None:
    wrap = 25 * 2**36  # ms; ids wrap at every multiple (docs/contract/formats.md#a8)
    rows = [{"time_created": wrap - 1000}, {"time_created": wrap - 10}, {"time_created": wrap + 5}]

    stamps = message_stamps(rows)

    assert stamps == sorted(stamps)
    assert stamps[-1] < stamp_of(wrap + 60_000)


def test_rows_that_the_import_refuses_are_left_out_and_named() -> None:
    document = export_documents([rows_of("v1_unknown_part_chat.db")])[0]

    assert {one.reason for one in document.left_out} == {"unknown kind 'mystery'"}
    assert "mystery" not in document.text
    assert any("left out" in note for note in document.notes)


def test_an_export_under_its_own_ids_says_delete_first() -> None:
    rows = rows_of("clean.db")

    document = export_documents([rows], fresh=False)[0]

    assert json.loads(document.text)["info"]["id"] == rows.id
    assert any(f"opencode session delete {rows.id}" in note for note in document.notes)


def test_v2_rows_have_no_export_form() -> None:
    with pytest.raises(NotExportable, match="V2 rows"):
        export_documents([rows_of("v2-gen1.db")])


def test_a_family_is_exported_as_a_zip_parents_first(suture, tmp_path) -> None:
    database = Path(shutil.copyfile(CORPUS / "subagent_kill.db", tmp_path / "opencode.db"))
    with stores.open_store(database) as store:
        parent = next(row["id"] for row in store.sessions() if row["parent_id"] is None)

    made = suture(
        "export",
        database,
        "--session",
        parent,
        "--as",
        "export",
        "--children",
        "--output",
        tmp_path / "family.zip",
    )

    assert made.code == 0, made.err
    with zipfile.ZipFile(io.BytesIO((tmp_path / "family.zip").read_bytes())) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".json"))
        first, second = (json.loads(archive.read(name)) for name in names)
    assert second["info"]["parentID"] == first["info"]["id"]


def test_a_session_without_messages_has_nothing_to_export() -> None:
    with pytest.raises(NotExportable, match="no messages"):
        export_documents([parse_value({"session": {"id": "ses_1"}})])


def test_a_file_that_is_there_is_not_written_over(suture, tmp_path) -> None:
    (tmp_path / "mine.json").write_text("mine")

    made = suture("export", CORPUS / "clean.db", "--as", "export", "--output", tmp_path / "mine.json")

    assert made.code == 2
    assert (tmp_path / "mine.json").read_text() == "mine"


def _document() -> dict[str, Any]:
    return {
        "session": {"id": "ses_1", "time_created": 1},
        "messages": [
            {
                "id": "msg_1",
                "session_id": "ses_1",
                "time_created": 1,
                "data": '{"role":"assistant"}',
                "parts": [{"id": "prt_1", "data": "{}"}],
            }
        ],
    }
