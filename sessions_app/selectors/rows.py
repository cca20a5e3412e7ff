"""The rows of a session out of the mirror, as stored."""

from __future__ import annotations

from collections.abc import Iterable

from sessions_app.domain.dialects import named
from sessions_app.domain.knownmodels import Models, finder, input_said
from sessions_app.domain.model import Row, SessionRows, line_row
from sessions_app.domain.rowcodec import VERBATIM, decode_value, row_from_text
from sessions_app.models import Line, Message, Part, Project, Session

_MESSAGE = (
    "table",
    "stored_id",
    "time_created",
    "time_updated",
    "seq",
    "kind",
    "data",
    "encoding",
    "columns",
)
_PART = ("stored_id", "message_stored_id", "time_created", "time_updated", "data", "encoding", "columns")


def session_rows(session: Session) -> SessionRows:
    """The rows of one imported session: column values and data exactly as they were read.

    Of a session that is only listed so far, the session row alone.
    """
    rows = SessionRows(
        session=session.stored_row,
        projects=_rows(
            Project.objects.filter(source_id=session.source_id).order_by("id").values_list("row", flat=True)
        ),
        epoch=row_from_text(session.epoch) if session.epoch else None,
        siblings=_siblings(session),
        inputs=_rows(session.inputs),
        sequence=row_from_text(session.sequence) if session.sequence else None,
        last_event=session.last_event,
        models=Models(finder(session.known_models), input_said(session.source.input)),
    )
    if session.dialect and named(session.dialect).filed == Message.Table.LINE:
        rows.lines = _lines(session)
        return rows
    stored = Message.objects.filter(session=session).order_by("position").values_list(*_MESSAGE)
    for table, stored_id, created, updated, seq, kind, data, encoding, columns in stored.iterator(chunk_size=2000):
        value = data if encoding == VERBATIM else decode_value(data, encoding)
        if table == Message.Table.MESSAGE:
            usual = message_columns(stored_id, session.stored_id, created, updated)
            rows.messages.append(_row(columns, usual, value))
        else:
            usual = session_message_columns(stored_id, session.stored_id, kind, created, updated, seq)
            rows.session_message.append(_row(columns, usual, value))
    rows.parts = _parts(session)
    return rows


def _lines(session: Session) -> list[Row]:
    stored = Line.objects.filter(session=session).order_by("position").values_list("file", "number", "data", "encoding")
    session_id = session.stored_row["id"]
    return [
        line_row(session_id, file, int(number) if number.is_integer() else number, decode_value(data, encoding))
        for file, number, data, encoding in stored.iterator(chunk_size=2000)
    ]


def message_columns(stored_id: str, session_id: str, created: object, updated: object) -> Row:
    """The usual row of table ``message`` without its ``data``."""
    return {"id": stored_id, "session_id": session_id, "time_created": created, "time_updated": updated}


def part_columns(stored_id: str, message_id: str, session_id: str, created: object, updated: object) -> Row:
    """The usual row of table ``part`` without its ``data``."""
    return {
        "id": stored_id,
        "message_id": message_id,
        "session_id": session_id,
        "time_created": created,
        "time_updated": updated,
    }


def session_message_columns(
    stored_id: str, session_id: str, kind: str, created: object, updated: object, seq: object
) -> Row:
    """The usual row of table ``session_message`` without its ``data``, columns as 1.18 has them."""
    return {
        "id": stored_id,
        "session_id": session_id,
        "type": kind,
        "seq": seq,
        "time_created": created,
        "time_updated": updated,
    }


def _parts(session: Session) -> list[Row]:
    """In order (message_id, id), as code points compare, whatever the database's locale."""
    stored = Part.objects.filter(session=session, item=None).order_by("position").values_list(*_PART)
    session_id = session.stored_id
    rows = [
        _row(
            columns,
            part_columns(stored_id, message_id, session_id, created, updated),
            data if encoding == VERBATIM else decode_value(data, encoding),
        )
        for stored_id, message_id, created, updated, data, encoding, columns in stored.iterator(chunk_size=2000)
    ]
    rows.sort(key=lambda row: str(row.get("message_id")))
    return rows


def _row(columns: str, usual: Row, data: object) -> Row:
    """``data`` goes last, as in opencode's tables, unless ``columns`` say where it is (or that there is none)."""
    if not columns:
        usual["data"] = data
        return usual
    row = row_from_text(columns)
    if "data" in row:
        row["data"] = data
    return row


def _rows(texts: Iterable[str]) -> list[Row]:
    return [row_from_text(text) for text in texts]


def _siblings(session: Session) -> list[Row]:
    """Session rows of the parent and of the children, those the source holds."""
    others = Session.objects.filter(source_id=session.source_id, missing_since=None).exclude(pk=session.pk)
    related = others.filter(parent_stored_id=session.stored_id)
    if session.parent_stored_id:
        related = related | others.filter(stored_id=session.parent_stored_id)
    return _rows(related.order_by("id").values_list("row", flat=True))
