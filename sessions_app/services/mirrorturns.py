"""A turn written into the mirror as it runs (``processor.ports.TurnStore``)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Max

from sessions_app.domain import dialects, rowdoc, values
from sessions_app.domain.model import Row, SessionRows
from sessions_app.domain.processor.shapes import RowDrop, RowPut, Spent, Write
from sessions_app.domain.rowcodec import encode_value, row_text
from sessions_app.domain.scan import scan
from sessions_app.models import Message, Part, Session
from sessions_app.selectors.rows import session_rows
from sessions_app.services.mirror import session_write
from sessions_app.services.scanning import scan_write
from sessions_app.stores.fileturns import V2_REFUSED, summed


class MirrorRefused(Exception):
    """The mirror of an attached file only follows that file; the message says so."""


class MirrorTurnStore:
    """One session of the mirror. Raises ``MirrorRefused`` for a session of an attached file: what is only here would be
    gone with the next reading.

    Writes touch the rows they name; ``settle`` brings counts, hash and findings up to date when the turn is over.
    """

    def __init__(self, session: Session) -> None:
        if session.source.live:
            raise MirrorRefused(
                V2_REFUSED
                if session.dialect == "opencode-v2"
                else "Rows of an attached session are written to its file, which the mirror follows."
            )
        self._session = session

    def rows(self) -> SessionRows:
        return session_rows(self._session)

    def write(self, writes: Sequence[Write]) -> None:
        with transaction.atomic():
            for write in writes:
                if isinstance(write, RowDrop):
                    model: type[Message | Part] = Part if write.table == "part" else Message
                    model._default_manager.filter(session=self._session, stored_id=write.id).delete()
                elif isinstance(write, RowPut) and write.table == "part":
                    self._part(write.row)
                elif isinstance(write, RowPut):
                    self._message(write.table, write.row)
            spent = [write for write in writes if isinstance(write, Spent)]
            if spent:
                self._session.row = row_text(summed(self._session.stored_row, spent))
                self._session.save(update_fields=("row",))

    def settle(self, *, now: datetime) -> None:
        """The turn is over: derived columns of the session and its findings follow."""
        rows = self.rows()
        decoded = dialects.decode(rows)
        rows_hash = rowdoc.rows_hash(rows)
        session_write(session=self._session, rows=rows, decoded=decoded, rows_hash=rows_hash, now=now)
        scan_write(session=self._session, decoded=decoded, result=scan(decoded), now=now)

    def _message(self, table: str, row: Row) -> None:
        data = json.loads(row["data"])
        model = data.get("model") if isinstance(data.get("model"), dict) else data
        error = data.get("error") or {}
        fields = {
            **_kept(row),
            "seq": row.get("seq"),
            "kind": values.name(row.get("type") or data.get("role")),
            "provider": values.name(model.get("providerID")),
            "model": values.name(model.get("modelID") or model.get("id")),
            "error": values.name(error.get("name") or error.get("type")),
            "finish": values.name(data.get("finish")),
        }
        found = Message.objects.filter(session=self._session, table=table, stored_id=row["id"])
        if not found.update(**fields):
            Message.objects.create(
                session=self._session,
                table=table,
                stored_id=row["id"],
                position=_behind(Message.objects.filter(session=self._session, table=table)),
                **fields,
            )

    def _part(self, row: Row) -> None:
        data = json.loads(row["data"])
        state = data.get("state") if isinstance(data.get("state"), dict) else {}
        fields = {
            **_kept(row),
            "kind": values.name(data.get("type")),
            "tool": values.name(data.get("tool")),
            "call_id": values.key(data["callID"]) if data.get("callID") else "",
            "status": values.name(state.get("status")),
            "size": len(row["data"]),
        }
        named = {"session": self._session, "message_stored_id": row["message_id"], "stored_id": row["id"]}
        if Part.objects.filter(**named).update(**fields):
            return
        message = Message.objects.get(session=self._session, table=Message.Table.MESSAGE, stored_id=row["message_id"])
        # Orphans and V2 items stand behind the parts of messages.
        place = _behind(Part.objects.filter(session=self._session, message__table=Message.Table.MESSAGE))
        Part.objects.filter(session=self._session, position__gte=place).update(position=F("position") + 1)
        Part.objects.create(message=message, position=place, **named, **fields)


def _kept(row: Row) -> dict[str, Any]:
    data, encoding = encode_value(row["data"])
    return {
        "time_created": row["time_created"],
        "time_updated": row["time_updated"],
        "data": data,
        "encoding": encoding,
    }


def _behind(rows: Any) -> int:
    last = rows.aggregate(last=Max("position"))["last"]
    return 0 if last is None else int(last) + 1
