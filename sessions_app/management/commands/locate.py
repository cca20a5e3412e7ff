"""``suture locate``: what an error text says, and what it points at."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from sessions_app import stores
from sessions_app.domain import dialects
from sessions_app.domain.locate import EVIDENCE, Answer, Location, answer, locate
from sessions_app.management.base import (
    SutureCommand,
    open_path,
    path_argument,
    session_argument,
    session_target,
    target_arguments,
)
from sessions_app.stores.base import Store, StoreError


class Command(SutureCommand):
    help = "Say what an error text means, what to do about it and which stored part it points at."
    examples = (
        ("suture locate --error 'messages.209.content.0.type: Expected `thinking`'", "in opencode's own database"),
        ("suture locate customer.db --session ses_... --error -", "in one session; the text comes from stdin"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        path_argument(parser)
        session_argument(parser)
        target_arguments(parser)
        parser.add_argument(
            "--error",
            required=True,
            metavar="TEXT",
            help="the error as the client showed it; - reads it from stdin",
        )
        parser.add_argument("--json", action="store_true", help="the answer as JSON")

    def run(self, *, path: str | None, session: list[str], error: str, json: bool, **options: Any) -> int:
        if error == "-" and path == "-":
            raise ValueError("Only one of PATH and --error can be read from stdin.")
        text = sys.stdin.read() if error == "-" else error
        said = answer(text)
        places: list[dict[str, Any]] = []
        looked = path is not None or bool(session) or bool(stores.discover())
        if looked:
            with open_path(path, options["input"]) as store, self.err.progress("Looking"):
                places = list(_places(store, text, session, options))
        if json:
            self.result(
                {
                    "class": said.about,
                    "kind": said.kind,
                    "next": said.next,
                    "readings": [asdict(reading) for reading in said.readings],
                    "places": places,
                }
            )
        else:
            self._in_words(said, places, looked)
        return 0

    def _in_words(self, said: Answer, places: list[dict[str, Any]], looked: bool) -> None:
        for reading in said.readings:
            names = ", ".join((*reading.rules, *reading.faults, *([reading.kind] if reading.kind else ())))
            self.tell(f"{reading.means} ({reading.about}{': ' if names else ''}{names})")
            if reading.position and not places:
                self.tell(f"  at {reading.position}")
        if not said.readings:
            self.tell("This text names no rule that is known, and no place. Give the provider's own sentence.")
        elif not places and said.about_request:
            self.say(_where_to_look(said.about_request, looked))
        self.out.rows((_row(place) for place in places), indent=2)
        self.tell(f"Next: {said.next}")


def _row(place: dict[str, Any]) -> tuple[str, ...]:
    where = " ".join(word for word in (place["message"], place["part"]) if word)
    return place["session"], where, place["by"] if where else "", place["title"]


def _where_to_look(readings: tuple[Location, ...], looked: bool) -> str:
    """What to do where no stored part was found."""
    if not looked:
        return "Name PATH, and --session where it is known, to see which stored part that is."
    if any(reading.rules for reading in readings):
        return "No session here would raise it."
    return "Name --session to see which stored part stands there."


def _places(store: Store, text: str, session_ids: list[str], options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Where the text leads in the named sessions, or in the only one; else which of all sessions it is about."""
    every = session_ids or [str(row["id"]) for row in store.sessions()]
    searching = len(every) > 1 and not session_ids
    found: list[tuple[str, str, Location]] = []
    for session_id in every:
        try:
            decoded = dialects.decode(store.read(session_id))
        except StoreError:
            if session_ids:
                raise
            continue
        target = session_target(options["target"], options["thinking"], decoded)
        found += [
            (decoded.id, decoded.title, location) for location in locate(text, decoded, target, searching=searching)
        ]
    if searching:
        found.sort(key=lambda place: EVIDENCE.index(place[2].by))
    for number, title, location in found:
        yield {"session": number, "title": title, **asdict(location)}
