"""The mirror gives back every row exactly as it came in, and changes only what differs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from sessions_app.domain import dialects, rowdoc
from sessions_app.domain.model import SessionRows
from sessions_app.domain.rowcodec import decode_value, encode_value, row_from_text, row_text
from sessions_app.models import Message, Part
from sessions_app.selectors.rows import session_rows
from sessions_app.services.mirror import session_write
from tests.each import for_each, stem
from tests.factories.models import NOW, session, source
from tests.paths import CASES

pytestmark = pytest.mark.django_db


def mirrored(rows: SessionRows, stored=None):
    stored = stored or session(source(), rows.id)
    change = session_write(
        session=stored, rows=rows, decoded=dialects.decode(rows), rows_hash=rowdoc.rows_hash(rows), now=NOW
    )
    return stored, change


def plain_rows(count: int = 3) -> SessionRows:
    def message(number: int, role: str) -> dict:
        data = json.dumps({"role": role, "time": {"created": number}})
        return {
            "id": f"msg_{number}",
            "session_id": "ses_1",
            "time_created": number,
            "time_updated": number,
            "data": data,
        }

    def part(number: int) -> dict:
        data = json.dumps({"type": "text", "text": f"text {number}"})
        return {
            "id": f"prt_{number}",
            "message_id": f"msg_{number}",
            "session_id": "ses_1",
            "time_created": number,
            "time_updated": number,
            "data": data,
        }

    return SessionRows(
        session={"id": "ses_1", "title": "Ein Titel", "directory": "/home/dev", "time_updated": 9},
        messages=[message(number, "user") for number in range(count)],
        parts=[part(number) for number in range(count)],
    )


@for_each("path", sorted(CASES.glob("*.json")), name=stem)
def test_every_case_comes_back_as_it_went_in(path):
    rows = rowdoc.parse_value(json.loads(path.read_text())["input"])

    stored, _ = mirrored(rows)
    back = session_rows(stored)

    assert rowdoc.rows_hash(back) == rowdoc.rows_hash(rows)
    assert [list(row) for row in back.parts] == [list(row) for row in rows.parts]
    assert back.messages == rows.messages
    assert back.parts == rows.parts
    assert back.session_message == rows.session_message


def test_rows_that_no_client_writes_come_back_too():
    rows = plain_rows()
    rows.messages[0]["data"] = b"\xff\x00 a blob"
    rows.messages[1]["time_created"] = "yesterday"
    rows.messages[2]["extra_column"] = 1.0
    rows.parts[0]["data"] = "NUL \x00, a byte \udcff and \ud83d"
    rows.parts[1]["data"] = None
    del rows.parts[2]["data"]
    rows.parts[2]["time_created"] = 10**30

    stored, _ = mirrored(rows)
    back = session_rows(stored)

    assert back.messages == rows.messages
    assert sorted(back.parts, key=lambda row: row["id"]) == rows.parts
    assert rowdoc.rows_hash(back) == rowdoc.rows_hash(rows)


def test_text_that_a_database_can_hold_is_stored_verbatim():
    rows = plain_rows(1)
    rows.parts[0]["data"] = '{"type":"text",  "text":"\\ud83d \\u0000 ä 12345678901234567890"}'

    stored, _ = mirrored(rows)

    assert Part.objects.get(session=stored).data == rows.parts[0]["data"]
    assert Part.objects.get(session=stored).columns == ""


def test_writing_the_same_rows_again_changes_nothing():
    rows = plain_rows()
    stored, first = mirrored(rows)
    keys = list(Part.objects.values_list("pk", flat=True))

    _, second = mirrored(plain_rows(), stored)

    assert first.created == 6
    assert not second.any
    assert list(Part.objects.values_list("pk", flat=True)) == keys


def test_only_the_row_that_differs_is_written():
    stored, _ = mirrored(plain_rows())
    rows = plain_rows()
    rows.parts[1]["data"] = '{"type":"text","text":"new"}'

    _, change = mirrored(rows, stored)

    assert (change.created, change.changed, change.removed) == (0, 1, 0)
    assert Part.objects.get(stored_id="prt_1").data == '{"type":"text","text":"new"}'


def test_a_row_that_went_away_goes_and_the_others_move_up():
    stored, _ = mirrored(plain_rows())
    rows = plain_rows()
    del rows.parts[0]

    _, change = mirrored(rows, stored)

    assert change.removed == 1
    assert list(Part.objects.order_by("position").values_list("stored_id", "position")) == [
        ("prt_1", 0),
        ("prt_2", 1),
    ]


def test_a_part_without_its_message_is_kept_as_an_orphan_behind_the_others():
    rows = plain_rows()
    rows.parts[0]["message_id"] = "msg_gone"

    stored, _ = mirrored(rows)

    orphan = Part.objects.get(message=None)
    assert (orphan.stored_id, orphan.message_stored_id, orphan.position) == ("prt_0", "msg_gone", 2)
    assert session_rows(stored).parts == sorted(rows.parts, key=lambda row: (row["message_id"], row["id"]))


def test_the_same_session_can_come_from_two_sources():
    one, other = session(source(), "ses_1"), session(source(), "ses_1")

    mirrored(plain_rows(), one)
    mirrored(plain_rows(), other)

    assert Message.objects.filter(stored_id="msg_0").count() == 2


def test_derived_columns_say_what_a_list_needs():
    rows = plain_rows()
    rows.parts[0]["data"] = json.dumps(
        {"type": "tool", "tool": "bash", "callID": "call_1", "state": {"status": "running", "input": {}}}
    )

    stored, _ = mirrored(rows)

    part = Part.objects.get(stored_id="prt_0")
    assert (part.kind, part.tool, part.call_id, part.status) == ("tool", "bash", "call_1", "running")
    assert (stored.title, stored.message_count, stored.part_count, stored.turn_count) == (
        "Ein Titel",
        3,
        3,
        3,
    )
    assert "ein titel" in stored.search
    assert stored.size_bytes == sum(len(row["data"]) for row in (*rows.messages, *rows.parts))


# Neither a store nor a JSON document yields the two halves of one character unjoined.
TEXT = st.one_of(
    st.text(alphabet=st.characters(codec=None), max_size=20),
    st.text(alphabet="\x00\ud83d\udcff\ude00aä😀", max_size=8),
).map(lambda text: json.loads(json.dumps(text)))
VALUES = st.one_of(
    st.none(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.binary(max_size=20),
    TEXT,
)


class AnyValue(TestCase):
    @given(VALUES)
    def test_any_stored_value_survives_being_kept(self, value):
        text, encoding = encode_value(value)

        text.encode()
        assert "\x00" not in text
        back = decode_value(text, encoding)
        assert back == value
        assert type(back) is type(value)

    @given(st.dictionaries(st.text(min_size=1, max_size=5), VALUES, max_size=5))
    def test_any_row_survives_with_its_columns_in_order(self, row):
        back = row_from_text(row_text(row))

        assert back == row
        assert list(back) == list(row)
