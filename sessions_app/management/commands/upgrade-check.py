"""``suture upgrade-check``: read-only, needs no database of its own."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from sessions_app.management.base import (
    FOUND_IT,
    SutureCommand,
    jobs_argument,
    open_path,
    path_argument,
    session_argument,
)
from sessions_app.management.printing import Toned, counted
from sessions_app.pool import over
from sessions_app.services.storefacts import facts_apart, is_native, store_facts
from sessions_app.services.upgrading import NOT_MEASURED, STATES, Checked, checker, failed


class Command(SutureCommand):
    help = (
        "Say what the upgrade to opencode 2.x, which takes old sessions over once, would drop or alter of each. Nothing"
        " is written."
    )
    examples = (
        ("suture upgrade-check", "opencode's own database"),
        ("suture upgrade-check customer.db --json", "for programs; exit code 1 where a session would lose something"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        path_argument(parser)
        session_argument(parser)
        parser.add_argument("--json", action="store_true", help="one JSON document")
        jobs_argument(parser)

    def run(self, *, path: str | None, session: list[str], json: bool, jobs: int, **options: Any) -> int:
        with open_path(path) as store:
            facts = store_facts(store=store, native=path != "-" and is_native(store.path), now=datetime.now(UTC))
            ids = session or list(store.session_ids())
            found: list[Checked] = []
            with self.err.progress("Checking", len(ids)) as meter:
                for one in over(store, ids, checker, facts_apart(facts), lost=failed, jobs=jobs, say=self.say):
                    found.append(one)
                    meter.at(len(found))
        states = Counter(one.state for one in found)
        if json:
            self.result({"states": dict(states), "sessions": [one.document() for one in found], "note": NOT_MEASURED})
        else:
            self._in_words(found, states)
        return FOUND_IT if any(states[bad] for bad in ("unreadable", "left-behind", "loses")) else 0

    def _in_words(self, found: list[Checked], states: Counter[str]) -> None:
        for one in found:
            if one.state in ("kept", "upgraded"):
                continue
            self.tell(one.id, Toned(one.title, "strong"), *([one.why] if one.why else []))
            self.out.rows(
                (
                    (
                        Toned(loss.effect, "bad" if loss.effect == "dropped" else "warn"),
                        loss.summary,
                        "repair it first" if loss.kind in one.mended else loss.advice,
                    )
                    for loss in one.losses
                ),
                indent=2,
            )
        for state, words in STATES.items():
            if states[state]:
                self.tell(f"{counted(states[state], 'session')} {words}")
        self.tell(NOT_MEASURED)
