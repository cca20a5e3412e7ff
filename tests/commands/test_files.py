"""scan, repair, undo, restore, lower, locate and export on bare files: no database of ours, exit codes 0, 1 and 2,
results on stdout."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import tarfile
from pathlib import Path

import pytest

from sessions_app import samples, stores
from sessions_app.domain import rowdoc
from sessions_app.stores.holders import Holder
from tests.client.suture import Suture
from tests.factories.killing import Killed, killed_at
from tests.paths import CASES, CORPUS, GOLDENS, REPORTS

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _no_database(monkeypatch):
    """As on a machine where Suture never served: undo has the journal alone."""
    monkeypatch.setattr("sessions_app.management.commands.undo.database_may_be_there", lambda: False)


def content(path: Path | str) -> dict[str, list[tuple]]:
    with sqlite3.connect(path) as connection:
        tables = [
            row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
        ]
        found = {table: sorted(connection.execute(f'SELECT * FROM "{table}"').fetchall(), key=repr) for table in tables}
    connection.close()
    return found


def case_input(number: str) -> str:
    (path,) = CASES.glob(f"{number}-*.json")
    return json.dumps(json.loads(path.read_text())["input"])


# scan


def test_scan_finds_a_blocked_session_and_says_the_providers_words(suture, poisoned):
    run = suture("scan", poisoned)

    assert run.code == 1
    assert "Blocked" in run.out
    assert "Duplicate value for 'tool_call_id' of functions.bash:0 in message[2]" in run.out


def test_scan_of_a_clean_database_ends_with_code_0(suture, clean):
    assert suture("scan", clean).code == 0


def test_scan_json_is_the_document_of_the_contract(suture, poisoned):
    document = suture("scan", poisoned, "--json").json

    assert document["source"] == {"path": str(poisoned), "kind": "sqlite", "dialects": ["opencode-v1"]}
    (session,) = document["sessions"]
    assert session["health"] == "blocked"
    assert session["target"] == {
        "protocol": "openai-chat",
        "provider": "fake",
        "model": "fake-1",
        "thinking": "off",
    }
    assert session["findings"][0]["rule"] == "duplicate-call-id-in-message"
    assert not session["verdicts"]["openai-chat"]["accepted"]
    assert set(session["verdicts"]) == {
        "anthropic-messages",
        "openai-chat",
        "openai-responses",
        "gemini",
        "bedrock-converse",
    }


def test_scan_ndjson_is_a_session_a_line(suture, tmp_path):
    database = samples.unpack(tmp_path)

    lines = suture("scan", database, "--ndjson").lines
    whole = suture("scan", database, "--json").json["sessions"]

    assert lines == whole
    assert len(lines) > 5


def test_scan_looks_at_the_named_sessions_only(suture, tmp_path):
    database = samples.unpack(tmp_path)
    wanted = [session["id"] for session in suture("scan", database, "--ndjson").lines][1:3]

    run = suture("scan", database, "--ndjson", "--session", wanted[0], "--session", wanted[1])

    assert [session["id"] for session in run.lines] == wanted


@pytest.mark.parametrize(("level", "code"), [("blocked", 1), ("at-risk", 1), ("never", 0)])
def test_fail_on_says_from_which_health_on_the_code_is_1(suture, poisoned, level, code):
    assert suture("scan", poisoned, "--fail-on", level).code == code


def test_scan_judges_for_the_target_it_is_given(suture, poisoned):
    (session,) = suture("scan", poisoned, "--json", "--target", "gemini:google/gemini-3-pro", "--thinking", "on").json[
        "sessions"
    ]

    assert session["target"] == {
        "protocol": "gemini",
        "provider": "google",
        "model": "gemini-3-pro",
        "thinking": "on",
    }


@pytest.mark.parametrize("number", ["01", "05"])
def test_scan_reads_a_row_document_from_stdin(suture, number):
    run = suture("scan", "-", "--json", stdin=case_input(number))

    assert run.json["source"]["path"] == "-"
    assert run.json["source"]["kind"] == "rows"


def test_scan_reads_an_export_with_chatter_before_it(suture):
    export = "Exporting session: ses_1\n" + (CORPUS / "dup_id_slow.json").read_text()

    run = suture("scan", "-", "--json", stdin=export)

    assert (run.code, run.json["source"]["kind"]) == (1, "export")


def test_scan_reads_a_storage_folder(suture, tmp_path):
    name = next(path for path in sorted(CORPUS.glob("seed_dup*.storage.tgz")))
    with tarfile.open(name) as packed:
        packed.extractall(tmp_path, filter="data")

    run = suture("scan", tmp_path, "--json")

    assert run.json["source"]["kind"] == "storage"
    assert run.json["sessions"][0]["health"] == "blocked"


def test_scan_leaves_no_trace_in_the_data_directory_and_does_not_touch_the_file(suture, poisoned, data_dir):
    before = poisoned.read_bytes()

    suture("scan", poisoned)

    assert list(data_dir.iterdir()) == []
    assert poisoned.read_bytes() == before


@pytest.mark.parametrize("damage", [b"", b"\x00" * 4096, b"Dear Ann,", b'{"info":{"id":"ses_1"'])
def test_what_cannot_be_read_ends_with_code_2_and_words(suture, tmp_path, damage):
    (tmp_path / "file").write_bytes(damage)

    run = suture("scan", tmp_path / "file")

    assert (run.code, run.out) == (2, "")
    assert "file" in run.err


def test_a_session_that_is_not_there_is_bad_usage(suture, poisoned):
    run = suture("scan", poisoned, "--session", "ses_none")

    assert (run.code, run.out) == (2, "")


def test_an_unknown_protocol_is_bad_usage(suture, poisoned):
    run = suture("scan", poisoned, "--target", "telegraph")

    assert (run.code, run.out) == (2, "")
    assert "openai-chat" in run.err


def test_one_row_that_is_no_json_does_not_hide_the_rest(suture, poisoned):
    with sqlite3.connect(poisoned) as connection:
        connection.execute("UPDATE part SET data = '{broken' WHERE id = (SELECT min(id) FROM part)")
    connection.close()

    (session,) = suture("scan", poisoned, "--json").json["sessions"]

    assert "corrupt-json" in {finding["rule"] for finding in session["findings"]}


def test_stored_text_cannot_steer_the_terminal(suture, poisoned):
    with sqlite3.connect(poisoned) as connection:
        connection.execute("UPDATE session SET title = ?", ("\x1b]0;owned\x07\x1b[2J",))
    connection.close()

    run = suture("scan", poisoned)

    assert "\x1b" not in run.out
    assert "owned" in run.out


def test_the_program_itself_keeps_streams_and_codes_apart(poisoned, tmp_path):
    program = Suture(tmp_path / "data")

    code, out, err = program.run("scan", str(poisoned), "--json")
    bad_code, bad_out, _ = program.run("scan", "--bogus")

    assert (code, err) == (1, "")
    assert json.loads(out)["sessions"][0]["health"] == "blocked"
    assert (bad_code, bad_out) == (2, "")
    assert not (tmp_path / "data" / "suture.db").exists()


# repair, dedupe, drop, undo, restore


def test_repair_fixes_the_file_and_undo_brings_every_row_back(suture, poisoned):
    before = content(poisoned)

    run = suture("repair", poisoned, "--json")
    after = suture("scan", poisoned, "--json").json["sessions"][0]
    (name,) = run.json["repairs"]
    undo = suture("undo", name)

    assert (run.code, undo.code) == (0, 0)
    assert run.json["sessions"][0]["outcome"] == "repaired"
    assert after["health"] != "blocked"
    assert content(poisoned) == before


@pytest.mark.parametrize("command", [("repair",), ("export", "--as", "report")])
def test_a_rule_that_nobody_knows_is_bad_usage_and_the_one_that_was_meant_is_named(suture, poisoned, command):
    before = content(poisoned)

    run = suture(command[0], poisoned, *command[1:], "--rule", "duplicate-call-id-in-mesage")

    assert run.code == 2
    assert "did you mean duplicate-call-id-in-message" in run.err
    assert content(poisoned) == before


def test_repair_and_undo_leave_no_database_of_ours_behind(poisoned, tmp_path):
    program = Suture(tmp_path / "data")
    before = content(poisoned)

    (name,) = program.json("repair", str(poisoned))["repairs"]
    changed = content(poisoned) != before
    code, _, err = program.run("undo", name)

    assert (changed, code, err) == (True, 0, "")
    assert content(poisoned) == before
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["backups", "journal"]


def test_a_second_repair_has_nothing_to_do(suture, poisoned):
    suture("repair", poisoned)
    before = content(poisoned)

    run = suture("repair", poisoned)

    assert (run.code, run.out) == (0, "Nothing to repair.\n")
    assert content(poisoned) == before


def test_a_dry_run_tells_and_writes_nothing(suture, poisoned, data_dir):
    before = poisoned.read_bytes()

    run = suture("repair", poisoned, "--dry-run")

    assert run.code == 0
    assert "would be repaired" in run.out
    assert poisoned.read_bytes() == before
    assert list(data_dir.iterdir()) == []


def test_output_repairs_a_copy_and_leaves_the_original_alone(suture, poisoned, tmp_path):
    before = content(poisoned)

    run = suture("repair", poisoned, "--output", tmp_path / "copy.db")

    assert run.code == 0
    assert content(poisoned) == before
    assert suture("scan", tmp_path / "copy.db").code == 0
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".suture")] == []


def test_a_copy_holds_what_the_wal_of_the_original_holds(suture, poisoned, tmp_path):
    writer = sqlite3.connect(poisoned)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("UPDATE session SET title = 'only in the WAL'")
    writer.commit()

    suture("repair", poisoned, "--output", tmp_path / "copy.db")

    writer.close()
    assert suture("scan", tmp_path / "copy.db", "--json").json["sessions"][0]["title"] == "only in the WAL"


def test_a_document_from_stdin_is_repaired_to_stdout(suture):
    run = suture("repair", "-", "--output", "-", stdin=case_input("01"))

    rows = rowdoc.parse(run.out)
    assert run.code == 0
    assert "prt_0002_03" not in {row["id"] for row in rows.parts}
    assert "prt_0002_02" in {row["id"] for row in rows.parts}


def test_what_comes_from_stdin_cannot_be_repaired_in_place(suture):
    assert suture("repair", "-", stdin=case_input("01")).code == 2


def test_an_export_file_is_repaired_in_place_and_undone(suture, tmp_path):
    path = Path(shutil.copy(CORPUS / "dup_id_slow.json", tmp_path / "export.json"))
    before = suture("export", path).out

    run = suture("repair", path, "--json")
    scanned = suture("scan", path).code
    suture("undo", run.json["repairs"][0])

    assert (run.code, scanned) == (0, 0)
    assert suture("export", path).out == before


def test_only_the_named_rule_is_repaired(suture, tmp_path):
    """Of two empty rows with the provider's refusal the older goes; the newest is evidence, whatever is named."""
    path = Path(shutil.copy(REPORTS / "recorded-refusal-signature.json", tmp_path / "rows.json"))

    run = suture("repair", path, "--rule", "empty-message", "--json")

    assert run.json["sessions"][0]["rules"] == ["empty-message"]
    assert run.json["sessions"][0]["changes"] == 1
    assert suture("scan", path).code == 1


def test_a_stored_refusal_is_told_in_words_and_for_programs(suture):
    path = REPORTS / "recorded-refusal-signature.json"
    words = "messages.1.content.0: Invalid `signature` in `thinking` block"
    told = suture("scan", path)
    (document,) = suture("scan", path, "--json").json["sessions"]

    assert told.code == 1 and words in told.out and "accepts" not in told.out
    assert (document["last_call"]["class"], document["last_call"]["words"]) == ("history", words)


def test_dedupe_is_that_service_alone(suture, poisoned):
    run = suture("dedupe", poisoned, "--json")

    assert run.code == 0
    assert run.json["sessions"][0]["rules"] == ["duplicate-call-id-in-message"]


def test_a_rule_that_loses_something_leaves_the_session_incomplete_until_it_is_allowed(suture, tmp_path):
    path = Path(shutil.copy(CORPUS / "think_nosig_tool.db", tmp_path / "opencode.db"))

    safe, lossy = suture("repair", path, "--json"), suture("repair", path, "--safety", "lossy", "--json")

    assert (safe.code, lossy.code) == (1, 0)
    assert safe.json["sessions"][0]["left"]
    assert suture("scan", path).code == 0


def test_a_client_that_has_the_file_open_stops_the_closing_of_its_tools(suture, tmp_path, monkeypatch):
    monkeypatch.setattr(stores.SqliteStore, "holders", lambda self: [Holder(4711, "opencode serve", True)])
    path = Path(shutil.copy(CORPUS / "abort_running.db", tmp_path / "opencode.db"))
    with sqlite3.connect(path) as connection:
        running = (
            '{"type":"tool","tool":"bash","callID":"call_x","state":{"status":"running","input":{},"time":{"start":1}}}'
        )
        tool = connection.execute('SELECT id FROM part WHERE data LIKE \'%"type":"tool"%\'').fetchone()
        connection.execute("UPDATE part SET data = ? WHERE id = ?", (running, *tool))
    connection.close()

    held = suture("repair", path, "--rule", "stuck-tool")
    forced = suture("repair", path, "--rule", "stuck-tool", "--force")

    assert (held.code, forced.code) == (1, 0)
    assert "opencode serve (process 4711)" in held.out


def test_undo_is_refused_where_a_row_changed_since(suture, poisoned):
    (name,) = suture("repair", poisoned, "--json").json["repairs"]
    with sqlite3.connect(poisoned) as connection:
        connection.execute("UPDATE part SET time_updated = 1")
    connection.close()
    before = content(poisoned)

    run = suture("undo", name)

    assert run.code == 1
    assert content(poisoned) == before


def test_an_unknown_repair_is_bad_usage(suture):
    assert suture("undo", "rep_none").code == 2
    assert suture("undo", "../../etc/passwd").code == 2


def test_a_backup_is_put_back(suture, poisoned):
    before = content(poisoned)
    backup = suture("repair", poisoned, "--json").json["backup"]

    run = suture("restore", backup, poisoned)

    assert run.code == 0
    assert content(poisoned) == before


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="needs the sqlite3 program")
def test_a_patch_does_what_the_repair_does_and_its_undo_takes_it_back(suture, poisoned, tmp_path):
    before = content(poisoned)
    suture("repair", poisoned, "--output", tmp_path / "copy.db")

    run = suture("repair", poisoned, "--patch", tmp_path / "fix.sql")
    assert content(poisoned) == before
    applied = sqlite(poisoned, tmp_path / "fix.sql")
    patched = content(poisoned)
    sqlite(poisoned, tmp_path / "fix.undo.sql")

    assert (run.code, applied.returncode, applied.stderr) == (0, 0, "")
    assert patched == content(tmp_path / "copy.db")
    assert content(poisoned) == before


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="needs the sqlite3 program")
def test_a_patch_is_refused_whole_where_one_row_changed(suture, poisoned, tmp_path):
    suture("repair", poisoned, "--patch", tmp_path / "fix.sql")
    with sqlite3.connect(poisoned) as connection:
        connection.execute("UPDATE message SET time_updated = 1")
    connection.close()
    before = content(poisoned)

    applied = sqlite(poisoned, tmp_path / "fix.sql")

    assert applied.returncode != 0
    assert "changed since this patch was made; nothing was written" in applied.stderr
    assert content(poisoned) == before


def sqlite(path: Path, script: Path) -> subprocess.CompletedProcess[str]:
    with script.open("rb") as file:
        return subprocess.run(["sqlite3", str(path)], stdin=file, capture_output=True, text=True, timeout=60)


# lower, locate, export


def test_lower_gives_the_body_with_the_two_fixes_and_as_stored_without(suture, poisoned):
    fixed = suture("lower", poisoned, "--target", "openai-chat").json
    stored = suture("lower", poisoned, "--target", "openai-chat", "--as-stored").json

    def ids(body):
        return [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]

    assert ids(fixed) == ["functions.bash:0"]
    assert ids(stored) == ["functions.bash:0", "functions.bash:0"]


def test_lower_ends_as_the_next_request_does_and_trims_nothing(suture):
    target = ("--target", "anthropic-messages:fakea/claude-fake", "--as-stored")
    run = suture("lower", REPORTS / "last-answer-whitespace.json", *target)

    assert run.json["messages"][-1]["content"][-1] == {"type": "text", "text": "  done \n"}
    assert run.err == ""


def test_lower_says_what_comes_first_and_gives_the_summary_request(suture):
    path, target = REPORTS / "pending-compaction.json", ("--target", "anthropic-messages:fakea/claude-fake")
    turn = suture("lower", path, *target, "--as-stored")
    summary = suture("lower", path, *target, "--summary")
    scanned = suture("scan", path)

    assert "the client first sends a summary request" in turn.err
    assert turn.json["messages"][-1]["content"][-1] == {"type": "text", "text": "half"}
    [message] = summary.json["messages"]
    assert message["content"][0]["text"].startswith(
        "Here is the conversation so far:\n\n<conversation>\n[User]: hi\n\n"
    )
    assert summary.err == ""
    assert "comes first" in scanned.out and "sends a summary request" in scanned.out
    document = json.loads(path.read_text()) | {"target": {"provider": "fakea", "model": "claude-fake"}}
    [line] = suture("lower", "-", "--ndjson", stdin=json.dumps(document) + "\n").lines
    assert line["opens_with"] == "compaction"


def test_lower_writes_where_each_piece_comes_from(suture, poisoned, tmp_path):
    body = suture("lower", poisoned, "--target", "openai-chat", "--provenance", tmp_path / "from.json").json

    origins = json.loads((tmp_path / "from.json").read_text())
    assert all(f"messages.{index}" in origins for index in range(1, len(body["messages"])))
    assert any(origin["part"].startswith("prt_") for origin in origins.values())


def test_lower_gives_canonical_messages(suture, poisoned):
    messages = suture("lower", poisoned, "--target", "openai-chat", "--canonical").json

    assert {message["role"] for message in messages} == {"user", "assistant", "tool"}


def test_lower_needs_to_know_which_session(suture, tmp_path):
    database = samples.unpack(tmp_path)

    run = suture("lower", database, "--target", "openai-chat")

    assert (run.code, run.out) == (2, "")
    assert "--session" in run.err


def test_lower_answers_each_line_and_a_bad_one_does_not_end_the_stream(suture):
    goldens = [json.loads(line) for line in (GOLDENS / "named-gen1.jsonl").read_text().splitlines()[:3]]
    lines = [json.dumps(golden["input"]) for golden in goldens]

    run = suture(
        "lower",
        "-",
        "--ndjson",
        stdin="\n".join([lines[0], "{broken", "[]", lines[1], "", '{"session":{}}']) + "\n",
    )

    assert run.code == 0
    assert [sorted(answer) for answer in run.lines][1:3] == [["error"], ["error"]]
    assert len(run.lines) == 5


def test_locate_names_rule_and_part(suture, poisoned):
    run = suture(
        "locate",
        poisoned,
        "--error",
        "Duplicate value for 'tool_call_id' of functions.bash:0 in message[2]",
        "--json",
    )

    assert run.code == 0
    assert "O18" in run.json["readings"][0]["rules"]
    assert run.json["places"][0]["part"].startswith("prt_")


def test_locate_reads_the_error_from_stdin(suture, poisoned):
    run = suture("locate", poisoned, "--error", "-", stdin="messages.3.content.1: `tool_use` ids must be unique")

    assert run.code == 0
    assert "duplicate-call-id" in run.out


def test_a_repair_says_where_the_full_backup_is_and_restore_takes_it(suture, poisoned):
    before = content(poisoned)
    done = suture("repair", poisoned)
    backup = done.err.split("A full backup of the file is ")[1].split("\n")[0]

    assert suture("restore", backup, poisoned).code == 0
    assert content(poisoned) == before


def test_locate_without_a_store_explains_the_rule_and_says_what_to_name(suture, monkeypatch):
    monkeypatch.setattr(stores, "discover", list)
    run = suture("locate", "--error", "messages.209.content.1: `tool_use` ids must be unique")

    assert run.code == 0
    assert "messages.209.content.1" in run.out
    assert "Name PATH" in run.err


def test_locate_gives_the_class_and_what_to_do(suture, poisoned):
    answer = suture("locate", poisoned, "--error", "SQLiteError: database is locked", "--json").json

    assert (answer["class"], answer["kind"]) == ("store", "locked")
    assert answer["next"]
    assert answer["places"] == []
    assert "Next: " in suture("locate", poisoned, "--error", "Overloaded").out


def test_locate_needs_no_session_where_there_is_only_one(suture):
    path = REPORTS / "locate-position-beats-id.json"

    by_position = suture("locate", path, "--error", "messages.1.content.0: something odd", "--json").json["places"]

    assert [place["by"] for place in by_position] == ["position"]


def test_locate_searches_all_sessions_and_the_errors_they_store(suture, tmp_path):
    database = samples.unpack(tmp_path)
    with sqlite3.connect(database) as connection:
        session, message, data = connection.execute(
            "SELECT session_id, id, data FROM message WHERE data LIKE '%assistant%' ORDER BY id LIMIT 1"
        ).fetchone()
        error = {"name": "APIError", "data": {"message": "The frobnicator of this gateway is out of order"}}
        changed = json.dumps({**json.loads(data), "error": error})
        connection.execute("UPDATE message SET data = ? WHERE id = ?", (changed, message))
    connection.close()

    places = suture("locate", database, "--error", "the FROBNICATOR of this gateway is out of order", "--json").json[
        "places"
    ]

    assert [(place["session"], place["message"], place["by"]) for place in places] == [(session, message, "recorded")]


def test_export_gives_every_row_back(suture, poisoned):
    document = suture("export", poisoned).out

    with stores.open_store(poisoned) as store:
        (rows,) = store.read_all()
    assert rowdoc.rows_hash(rowdoc.parse(document)) == rowdoc.rows_hash(rows)


def test_scan_tells_of_a_damaged_database(suture, poisoned):
    with sqlite3.connect(poisoned) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        page = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'event'").fetchone()[0]
    connection.close()
    with poisoned.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)

    (session,) = suture("scan", poisoned, "--json").json["sessions"]

    assert {"sqlite-corrupt", "duplicate-call-id-in-message"} <= {finding["rule"] for finding in session["findings"]}


@pytest.mark.parametrize(
    ("step", "words"),
    [("prepared", "the file has the old state"), ("committed", "the file has the new state")],
)
def test_a_repair_killed_half_way_is_told_by_the_next_command(suture, poisoned, monkeypatch, step, words):
    before = content(poisoned)

    with monkeypatch.context() as patched:
        killed_at(patched, step)
        with pytest.raises(Killed):
            suture("repair", poisoned)

    run = suture("undo", "rep_none")

    assert words in run.err
    assert (content(poisoned) == before) is (step == "prepared")
