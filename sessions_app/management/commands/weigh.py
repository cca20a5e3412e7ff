"""``suture weigh``: read-only, needs no database of its own."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser
from dataclasses import dataclass
from typing import Any

from sessions_app.domain import dialects
from sessions_app.domain.scan import scan
from sessions_app.domain.weight import (
    INSTEAD,
    KINDS,
    RULES,
    Named,
    Way,
    Weight,
    as_document,
    in_bytes,
    named,
    session_pieces,
    ways,
    weigh,
)
from sessions_app.management.base import SutureCommand, open_path, path_argument, session_argument
from sessions_app.management.printing import Toned, counted
from sessions_app.stores.base import Store, StoreError

_BAR = 40
"""Characters of the longest bar."""
_LINES = 24
"""Bars of a session at most: a screen's height."""


@dataclass(frozen=True, slots=True)
class _Weighed:
    id: str
    title: str
    weight: Weight
    heaviest: tuple[Named, ...]
    ways: tuple[Way, ...]

    def document(self) -> dict[str, Any]:
        return {"id": self.id, "title": self.title, **as_document(self.weight, self.heaviest, self.ways)}


class Command(SutureCommand):
    help = (
        "Say what makes sessions slow to open: sizes by turn and by kind, what is heaviest, and what can be taken out."
        " Nothing is written."
    )
    examples = (
        ("suture weigh", "which sessions of opencode's own database are heavy"),
        ("suture weigh customer.db --session ses_...", "one session, turn by turn"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        path_argument(parser)
        session_argument(parser)
        parser.add_argument("--json", action="store_true", help="one JSON document")

    def run(self, *, path: str | None, session: list[str], json: bool, **options: Any) -> int:
        with open_path(path) as store:
            ids = session or list(store.session_ids())
            told: list[_Weighed] = []
            unread = 0
            with self.err.progress("Weighing", len(ids)) as meter:
                for number, session_id in enumerate(ids, 1):
                    try:
                        one = _weighed(store, session_id, whole=bool(session))
                    except StoreError:
                        if session:
                            raise
                        unread += 1
                    else:
                        told += [one] if one is not None else []
                    meter.at(number)
            told.sort(key=lambda one: -one.weight.size)
            where = "" if path is None else f" {shlex.quote(path)}"
        if json:
            self.result({"sessions": [one.document() for one in told], "weighed": len(ids) - unread, "unread": unread})
        elif session:
            for one in told:
                self._in_full(one, where)
        else:
            self._heavy(told, len(ids), unread)
        return 0

    def _heavy(self, told: list[_Weighed], count: int, unread: int) -> None:
        self.out.rows((one.id, Toned(one.title, "strong"), one.weight.sentence) for one in told)
        heavy = f"{len(told):,} of {counted(count - unread, 'session')}" if told else counted(count - unread, "session")
        self.tell(f"{heavy}{' are' if told else ', none is'} heavy.")
        if told:
            self.say("Name one with --session to see its turns and what can be taken out.")
        if unread:
            self.say(f"{counted(unread, 'session')} could not be read; suture scan says why.")

    def _in_full(self, one: _Weighed, where: str) -> None:
        weight = one.weight
        heavy = Toned(weight.sentence, "warn") if weight.heavy else "Not heavy"
        self.tell(one.id, Toned(one.title, "strong"), heavy)
        self.out.rows(((KINDS[kind], in_bytes(size)) for kind, size in weight.kinds.items()), indent=2)
        bars = weight.bars(_LINES if self.out.terminal else len(weight.turns) or 1)
        most = max((turn.size for turn in bars), default=1)
        drawn = ("█" * round(_BAR * turn.size / most) if self.out.terminal else "" for turn in bars)
        self.out.rows(
            ((turn.called, in_bytes(turn.size), bar) for turn, bar in zip(bars, drawn, strict=True)), indent=2
        )
        if one.heaviest:
            self.tell("The heaviest:")
        rows = ((in_bytes(each.piece.size), each.place, KINDS[each.piece.kind]) for each in one.heaviest)
        self.out.rows(rows, indent=2)
        for way in one.ways:
            self.tell(f"{way.words} ({way.safety}): about {in_bytes(way.size)}.")
            self.tell("  Preview:", Toned(_command(one.id, way, where), "strong"))
        if weight.heavy:
            self.tell(INSTEAD)


def _command(session_id: str, way: Way, where: str) -> str:
    """The command that shows what the repair would do; without ``--dry-run`` it does it."""
    asked = f"--rule {way.rule}"
    if way.safety != "safe":
        asked += f" --choice {way.rule}={way.choice}"
    return f"suture repair{where} --session {shlex.quote(session_id)} {asked} --dry-run"


def _weighed(store: Store, session_id: Any, *, whole: bool) -> _Weighed | None:
    """None of a session that is not heavy, where not all is asked for (``whole``)."""
    session = dialects.decode(store.read(session_id))
    count = sum(len(message.parts) for message in session.messages) + len(session.orphans)
    weight = weigh(session_pieces(session), count)
    if not (whole or weight.heavy):
        return None
    found = scan(session).findings
    opened = ways((one.rule, one.key, one.details) for one in found if one.rule in RULES)
    return _Weighed(session.id, session.title, weight, named(weight, session), opened)
