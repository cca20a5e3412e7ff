"""Row documents as a store: one, several one after the other, or a line each (docs/contract/design.md#8)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sessions_app.domain import rowdoc
from sessions_app.domain.dialects import apply
from sessions_app.domain.model import SessionRows
from sessions_app.domain.repair import RowChange
from sessions_app.domain.rowcodec import to_text

from .ground import Problem, StoreError
from .textsniff import Found, documents
from .textstore import TextStore, changes_of

_ROW_MEMBERS = frozenset(
    {
        "session",
        "messages",
        "parts",
        "session_message",
        "projects",
        "project",
        "session_context_epoch",
        "session_input",
        "event_sequence",
        "last_event",
        "siblings",
        "lines",
    }
)


class RowStore(TextStore):
    """Raises ``StoreError`` where the only document of the text is no row document; among several, one that is none is
    a problem."""

    kind = "rows"

    def _load(self, text: str) -> None:
        self._places: dict[str, tuple[int, int]] = {}
        found = [document for document in documents(text, self.path) if document.kind == "rows"]
        for number, document in enumerate(found):
            rows = self._parsed(text, document, f"document {number + 1}", alone=len(found) == 1)
            if rows is None:
                continue
            if rows.id in self.loaded:
                self.problems.append(
                    Problem(
                        f"document {number + 1}",
                        f"A second document of session {rows.id} was passed over.",
                        "",
                        rows.id,
                    )
                )
                continue
            self.loaded[rows.id] = rows
            self._places[rows.id] = (document.start, document.end)

    def _parsed(self, text: str, document: Found, where: str, alone: bool) -> SessionRows | None:
        try:
            return rowdoc.parse(text[document.start : document.end])
        except rowdoc.RowDocumentError as error:
            if alone:
                raise StoreError(
                    "not-a-store", self.path, f"This is no row document: {error}.", "See docs for its shape."
                ) from error
            self.problems.append(Problem(where, str(error), "undecodable-row"))
            return None

    def rendered(self, changes: Sequence[RowChange]) -> str:
        pieces = []
        at = 0
        for session_id, (start, end) in self._places.items():
            own = changes_of(self.loaded[session_id], changes)
            if own:
                pieces += [self.text[at:start], self._document(session_id, own, self.text[start:end])]
                at = end
        return "".join([*pieces, self.text[at:]])

    def _document(self, session_id: str, changes: Sequence[RowChange], text: str) -> str:
        """The changed document, with the members of the old one that are no rows (a target, notes)."""
        others = {key: value for key, value in json.loads(text).items() if key not in _ROW_MEMBERS}
        return to_text({**rowdoc.document(apply(self.loaded[session_id], changes)), **others})
