"""``suture locate``: what an error text points at."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from sessions_app import stores
from sessions_app.domain import dialects
from sessions_app.domain.judging import verdict
from sessions_app.domain.locate import Location, locate, raised_by
from sessions_app.domain.wire.target import infer_target
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
    help = "Say what a provider's error text means and which stored part it points at."

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
        places: list[dict[str, Any]] = []
        readings = locate(text)
        looked = path is not None or bool(session) or bool(stores.discover())
        if looked:
            with open_path(path) as store:
                named = (
                    _in_sessions(store, text, session, options) if session else _raising(store, text, readings, options)
                )
                places = list(named)
        if json:
            self.result({"readings": [asdict(reading) for reading in readings], "places": places})
        else:
            self._in_words(readings, places, looked)
        return 0

    def _in_words(self, readings: list[Location], places: list[dict[str, Any]], looked: bool) -> None:
        for reading in readings:
            names = ", ".join((*reading.rules, *reading.faults))
            self.tell(f"{reading.means}" + (f" ({names})" if names else ""))
            if reading.position and not places:
                self.tell(f"  at {reading.position}")
        if not readings:
            self.tell("This text names no rule that is known, and no place. Give the provider's own sentence.")
        elif not places:
            self.say(_next_step(readings, looked))
        for place in places:
            where = " ".join(word for word in (place["message"], place["part"]) if word)
            self.tell(f"  {place['session']}  {place['title']}" + (f": {where}" if where else ""))


def _next_step(readings: list[Location], looked: bool) -> str:
    """What to do where no stored part was found."""
    if not looked:
        return "Name PATH, and --session where it is known, to see which stored part that is."
    if any(reading.rules for reading in readings):
        return "No session here would raise it."
    return "Name --session to see which stored part stands there."


def _in_sessions(store: Store, text: str, session_ids: list[str], options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for session_id in session_ids:
        decoded = dialects.decode(store.read(session_id))
        target = session_target(options["target"], options["thinking"], decoded)
        for location in locate(text, decoded, target):
            yield {"session": decoded.id, "title": decoded.title, **asdict(location)}


def _raising(store: Store, text: str, readings: list[Location], options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Sessions that would raise this error, or that hold the ids it names."""
    for row in store.sessions():
        try:
            decoded = dialects.decode(store.read(row["id"]))
        except StoreError:
            continue
        target = session_target(options["target"], options["thinking"], decoded) or infer_target(
            decoded, options["thinking"]
        )
        if target is None:
            continue
        judged = verdict(decoded, target)
        found = [location for location in locate(text, decoded, target) if location.by in ("violation", "id")]
        raised = [violation for reading in readings for violation in raised_by(reading, judged)]
        for location in found:
            yield {"session": decoded.id, "title": decoded.title, **asdict(location)}
        if raised and not found:
            first = raised[0]
            yield {
                "session": decoded.id,
                "title": decoded.title,
                "message": first.message,
                "part": first.part,
                "by": "violation",
            }
