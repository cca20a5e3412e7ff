"""A file of JSON lines as a store: what the stores of clients that append lines share (Codex, Claude Code).

Lines that no change names keep every byte. The file is written anew beside the old one and put in its place, so a crash
leaves one or the other.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from sessions_app.domain.model import LINE, Row, SessionRows, line_row
from sessions_app.domain.repair import RowChange, inverted
from sessions_app.domain.rowdoc import rows_hash

from .changes import Difference, GuardRefused, differences, row_id
from .ground import Problem, Standing
from .textstore import TextStore


class LineStore(TextStore):
    """The sessions of one file. A dialect's store says which lines are whose."""

    @abstractmethod
    def sessions_in(self, lines: Sequence[str]) -> Iterable[tuple[Row, range]]:
        """The session rows that are made of the lines, each with the places (from 0) of its lines. A session row says
        its ``dialect``."""

    def _load(self, text: str) -> None:
        self._lines = text.split("\n")
        """Without line ends; what stands behind the last one ("" in a whole file) is a line too."""
        for session, places in self.sessions_in(self._lines):
            session_id = str(session["id"])
            if session_id in self.loaded:
                words = f"A second session {session_id} was passed over."
                self.problems.append(Problem(f"line {places.start + 1}", words, "", session_id))
                continue
            self.loaded[session_id] = SessionRows(session, lines=list(self._rows(session_id, places)))

    def _rows(self, session_id: str, places: range) -> Iterator[Row]:
        # A name that is no UTF-8 would be refused by databases; it only tells files apart.
        name = self.path.name.encode("utf-8", "backslashreplace").decode()
        for place in places:
            if self._lines[place].strip():
                yield line_row(session_id, name, place + 1, self._lines[place])

    def rendered(self, changes: Sequence[RowChange]) -> str:
        lines: dict[float, str] = dict(enumerate(self._lines, 1))
        for change in changes:
            if change.table != LINE:
                raise GuardRefused([Difference(change.table, row_id(change), "", "this file holds lines only")])
            if change.before is not None:
                del lines[change.before["line"]]
            if change.after is not None:
                _check(change, change.after["data"])
                lines[change.after["line"]] = change.after["data"]
        return "\n".join(lines[number] for number in sorted(lines))

    def standing(self, changes: Sequence[RowChange], hashes: Mapping[str, tuple[str, str]]) -> Standing:
        """By the hashes, since a line that came or went moves all behind it; where the client has gone on since, by
        what stands at the old numbers and at the new ones."""
        for session_id, (before, after) in hashes.items():
            now = rows_hash(self.read(session_id)) if session_id in self.loaded else ""
            if now in (before, after):
                return "new" if now == after else "old"
        for state, planned in (("old", changes), ("new", inverted(tuple(changes)))):
            if not any(differences(change, self.row(change.table, change.key)) for change in planned):
                return cast("Standing", state)
        return "unclear"

    def _as_stored(self, net: tuple[RowChange, ...]) -> tuple[RowChange, ...]:
        """As planned: the numbers of lines are those of the file as it was (``repair.inverted`` counts anew)."""
        self.rendered(net)
        return net


def _check(change: RowChange, text: str) -> None:
    if "\n" in text or not text.strip():
        raise GuardRefused([Difference(LINE, row_id(change), "data", "a line holds one line of text")])
