"""The redacted bundle: no text survives, every finding does."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from sessions_app import stores
from sessions_app.domain import dialects
from sessions_app.domain.handback import redact
from sessions_app.domain.handback.masking import Masker
from sessions_app.domain.handback.redact import redacted
from sessions_app.domain.protocols.media import sniff
from sessions_app.domain.rowdoc import parse, parse_value
from sessions_app.domain.scan import scan
from tests.each import for_each, stem
from tests.factories.goldens import Golden, goldens
from tests.factories.v2recordings import RECORDINGS, Recording
from tests.paths import CASES, CORPUS

NAMES = sorted(path.name for path in CORPUS.glob("*.db"))
SECRET = "sk-ant-api03-AbCdEf0123456789"


def bundle(rows: Any, made_by: dict[str, str]) -> str:
    return "".join(redact.bundle(rows, made_by))


def rows_of(path: Path) -> Any:
    with stores.open_store(path) as store:
        return next(store.read_all())


@for_each("case", sorted(CASES.glob("*.json")), name=stem)
def test_a_case_shows_the_same_findings_when_masked(case: Path) -> None:
    _same_findings(parse_value(json.loads(case.read_text("utf-8"))["input"]))


@for_each("name", NAMES, one_in=8)
def test_a_recorded_session_shows_the_same_findings_when_masked(name: str) -> None:
    _same_findings(rows_of(CORPUS / name))


def _same_findings(rows: Any) -> None:
    text = bundle(rows, {})
    header = json.loads(text)["suture_bundle"]
    again = scan(dialects.decode(parse(text)))
    assert header["not_reproduced"] == []
    assert [(finding["rule"], finding["severity"], finding["parts"]) for finding in header["findings"]] == [
        (finding.rule, finding.severity, list(finding.parts)) for finding in again.findings
    ]
    assert header["health"] == again.health


def test_the_command_writes_a_bundle_that_scan_reads(suture, tmp_path) -> None:
    made = suture("export", CORPUS / "dup_id_slow.db", "--as", "bundle", "--output", tmp_path / "bundle.json")
    there = suture("scan", tmp_path / "bundle.json", "--json").json["sessions"][0]
    here = suture("scan", CORPUS / "dup_id_slow.db", "--json").json["sessions"][0]

    assert made.code == 0, made.err
    assert there["health"] == here["health"] == "blocked"
    assert [finding["rule"] for finding in there["findings"]] == [finding["rule"] for finding in here["findings"]]


def test_no_word_of_the_session_is_left() -> None:
    document = _document(
        text=f"The launch code of project Nightingale is {SECRET}",
        output="Nightingale output",
        path="/home/alice/nightingale/src",
    )

    text = bundle(parse_value(document), {})

    for word in (
        "Nightingale",
        "nightingale",
        "launch",
        "alice",
        "AbCdEf",
        "password",
        "hunter2",
        "Quarterly",
    ):
        assert word not in text, word


def test_a_providers_own_words_stay_and_what_it_quotes_does_not() -> None:
    theirs = "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: call_1."
    said = f"{theirs} Nightingale 47110815"
    masker = Masker(b"key", frozenset({"call_1"}))

    masked = masker.answered({"message": said, "responseBody": json.dumps({"error": said})})

    assert masked["message"].startswith(theirs)
    for word in ("Nightingale", "47110815"):
        assert word not in json.dumps(masked)


def test_names_of_files_are_masked_names_of_tools_are_not() -> None:
    file = {"data": "aGVsbG8=", "mime": "image/png", "name": "salaries.png", "source": {"type": "inline"}}
    tool = {
        "type": "tool",
        "id": "call_1",
        "name": "bash",
        "state": {"status": "streaming", "input": ""},
        "time": {"created": 1},
    }
    rows = [
        {
            "id": "msg_1",
            "session_id": "ses_1",
            "type": "user",
            "seq": 1,
            "data": {"text": "", "files": [file], "time": {"created": 1}},
        },
        {
            "id": "msg_2",
            "session_id": "ses_1",
            "type": "assistant",
            "seq": 2,
            "data": {"content": [tool], "time": {"created": 1}},
        },
    ]

    text = bundle(parse_value({"session": {"id": "ses_1"}, "session_message": rows}), {})

    assert "salaries" not in text
    assert '\\"name\\":\\"bash\\"' in text


def test_every_text_of_the_corpus_is_masked() -> None:
    for name in ("retry_text.db", "compact_ok.db", "think_clean.db", "args_string.db"):
        rows = rows_of(CORPUS / name)
        said = {
            word
            for row in rows.parts
            for value in _texts(json.loads(row["data"]))
            for word in re.findall(r"[A-Za-z]{7,}", value)
        }
        masked = " ".join(value for row in redacted(rows).parts for value in _texts(json.loads(row["data"])))
        left = {word for word in said if word in masked} - {"Tool", "execution", "aborted"}
        assert left == set(), (name, left)


def _texts(value: Any, key: str = "") -> list[str]:
    if isinstance(value, dict):
        return [text for name, item in value.items() for text in _texts(item, name)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item, key)]
    return (
        [value]
        if isinstance(value, str) and key in ("text", "output", "command", "content", "title", "description")
        else []
    )


def test_the_same_rows_always_give_the_same_bundle() -> None:
    rows = rows_of(CORPUS / "retry_text.db")

    assert bundle(rows, {}) == bundle(rows_of(CORPUS / "retry_text.db"), {})


def test_shape_is_kept() -> None:
    masker = Masker(b"key")
    text = "  Hello, Wörld 12!\n\x00\ud83d 漢字 \U0001f600 "

    masked = masker.text(text)

    assert masked != text
    assert [len(letter.encode("utf-8", "surrogatepass")) for letter in masked] == [
        len(letter.encode("utf-8", "surrogatepass")) for letter in text
    ]
    assert [letter.isspace() for letter in masked] == [letter.isspace() for letter in text]
    assert "\x00" in masked and "\ud83d" in masked and ", " in masked
    assert masker.text(text) == masked and masker.text(text + "x") != masked + "x"
    assert Masker(b"other").text(text) != masked


@pytest.mark.parametrize("text", ["", " ", "\n", "true", "null"])
def test_blank_text_and_literals_stay(text: str) -> None:
    assert Masker(b"key").text(text) == text


def test_json_in_a_text_stays_json_and_half_json_stays_half() -> None:
    masker = Masker(b"key")

    whole = masker.text('{"command": "rm -rf /srv/secret", "n": 5, "ok": true}')
    assert set(json.loads(whole)) == {"command", "n", "ok"}
    assert "secret" not in whole
    with pytest.raises(ValueError):
        json.loads(masker.text('{"command":"ls'))


def test_an_image_keeps_type_and_pixels_and_loses_its_content() -> None:
    png = (
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
        + (640).to_bytes(4, "big")
        + (480).to_bytes(4, "big")
        + b"\x08\x06\x00\x00\x00CRC!"
        + b"secret pixels" * 9
    )
    payload = base64.b64encode(png).decode()

    masked = Masker(b"key").url(f"data:image/png;base64,{payload}")

    head, _, data = masked.partition(",")
    assert head == "data:image/png;base64"
    assert sniff(data) == sniff(payload)
    assert b"secret" not in base64.b64decode(data)


def test_base64_that_is_none_stays_none() -> None:
    assert sniff(Masker(b"key").media("not/base64!!" * 20, "image/png")).valid is False


@pytest.mark.parametrize("payload", ["QR==", "aGVsbG9=", "QUJD"])
def test_base64_that_is_not_canonical_stays_so(payload: str) -> None:
    masked = Masker(b"key").media(payload, "image/png")

    assert len(masked) == len(payload)
    assert (base64.b64encode(base64.b64decode(masked)).decode() == masked) == (
        base64.b64encode(base64.b64decode(payload)).decode() == payload
    )


@pytest.mark.parametrize("text", ["12", "-7", "10.25", "0"])
def test_a_number_as_text_stays_a_number(text: str) -> None:
    json.loads(Masker(b"key").text(text))


@for_each("golden", goldens(), name=repr, one_in=25)
def test_v2_histories_show_the_same_findings_when_masked(golden: Golden) -> None:
    assert json.loads(bundle(golden.rows(), {}))["suture_bundle"]["not_reproduced"] == []


def test_rows_that_do_not_parse_are_masked_too() -> None:
    document = _document(text="x", output="y", path="/a")
    document["messages"][0]["parts"].append({"id": "prt_9", "data": '{"type":"text","text":"hunter2 is cut'})

    text = bundle(parse_value(document), {})

    assert "hunter2" not in text
    assert "corrupt-json" in [finding["rule"] for finding in json.loads(text)["suture_bundle"]["findings"]]


def _document(*, text: str, output: str, path: str) -> dict[str, Any]:
    tool = {
        "type": "tool",
        "tool": "bash",
        "callID": "call_1",
        "state": {
            "status": "completed",
            "input": {"command": "export password=hunter2", "env": {"a/b": "hunter2"}},
            "output": output,
            "title": "Quarterly figures",
            "metadata": {"output": output},
            "time": {"start": 1, "end": 2},
        },
    }
    user = {
        "role": "user",
        "time": {"created": 1},
        "agent": "build",
        "model": {"providerID": "fake", "modelID": "fake-1"},
    }
    assistant = {
        "role": "assistant",
        "parentID": "msg_1",
        "providerID": "fake",
        "modelID": "fake-1",
        "mode": "build",
        "agent": "build",
        "path": {"cwd": path, "root": path},
        "cost": 0,
        "time": {"created": 2, "completed": 3},
        "finish": "stop",
        "tokens": {"input": 1, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}},
        "error": {"name": "UnknownError", "data": {"message": f"refused with key {SECRET}"}},
    }
    return {
        "session": {
            "id": "ses_1",
            "title": "Quarterly figures",
            "directory": path,
            "slug": "quiet-nightingale",
            "time_created": 1,
        },
        "messages": [
            {
                "id": "msg_1",
                "session_id": "ses_1",
                "time_created": 1,
                "data": user,
                "parts": [{"id": "prt_1", "data": {"type": "text", "text": text}}],
            },
            {
                "id": "msg_2",
                "session_id": "ses_1",
                "time_created": 2,
                "data": assistant,
                "parts": [{"id": "prt_2", "data": tool}],
            },
        ],
        "projects": [{"id": "global", "worktree": path}],
    }


@for_each("recording", RECORDINGS.values(), one_in=8)
def test_what_lies_beside_a_v2_session_is_masked_and_counts_as_before(recording: Recording) -> None:
    rows = parse_value(recording.rows)
    masked = redacted(rows)
    assert recording.name not in json.dumps(masked.inputs)
    assert [row["promoted_seq"] for row in masked.inputs] == [row["promoted_seq"] for row in rows.inputs]
    _same_findings(rows)
