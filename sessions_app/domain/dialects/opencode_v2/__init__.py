"""The opencode-v2 dialect: table ``session_message``, generations 1 to 3 (format part B)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sessions_app.domain.dialects.base import Decoded
from sessions_app.domain.dialects.opencode import OpencodeDialect, reads_v2
from sessions_app.domain.model import V2, Row, Session, SessionRows
from sessions_app.domain.repair import Operation, RowChange

from .decode import decode_messages, decode_messages_again, provider_state
from .edits import TABLE, compile_operations

__all__ = ["OpencodeV2", "compile_operations", "decode_messages", "provider_state"]


class OpencodeV2(OpencodeDialect):
    """Table ``session_message``, content items inside its rows."""

    name = V2
    tables = (TABLE,)
    filed = TABLE
    lowering = "sessions_app.domain.lowering.opencode_v2"
    writer = "v2"
    compacted = True

    def current(self, rows: SessionRows) -> bool:
        return reads_v2(rows)

    def decode(self, rows: SessionRows, generation: int | None = None) -> Decoded:
        return Decoded(*decode_messages(rows, generation))

    def decode_again(self, rows: SessionRows, generation: int | None, known: Session) -> Decoded:
        return Decoded(*decode_messages_again(rows, generation, known))

    def compile_rows(self, rows: SessionRows, operations: Sequence[Operation]) -> tuple[RowChange, ...]:
        return compile_operations(rows, operations)

    def ordered(self, table: str, rows: Iterable[Row]) -> list[Row]:
        return sorted(rows, key=_place)


def _place(row: Row) -> tuple[bool, float]:
    """Rows without a number go last."""
    seq = row.get("seq")
    return (True, 0.0) if not isinstance(seq, (int, float)) else (False, seq)
