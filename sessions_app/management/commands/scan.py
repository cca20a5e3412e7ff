"""``suture scan``: read-only, needs no database of its own."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from sessions_app.domain import dialects
from sessions_app.domain.rowcodec import to_text
from sessions_app.domain.rules import Facts
from sessions_app.domain.scan import as_document, scan
from sessions_app.domain.wire.target import Thinking, parse_target
from sessions_app.management.base import (
    FOUND_IT,
    SutureCommand,
    open_path,
    path_argument,
    printable,
    session_argument,
    session_target,
    target_arguments,
)
from sessions_app.services.handback.storereport import StoreReport, store_report
from sessions_app.services.storefacts import QUICK_SECONDS, is_native, session_facts, store_facts
from sessions_app.stores.base import Store, StoreError

_FAILING = {
    "blocked": ("blocked", "unreadable"),
    "at-risk": ("blocked", "unreadable", "at-risk"),
    "never": (),
}
_WORDS = {"blocked": "Blocked", "at-risk": "At risk", "healthy": "Healthy", "unreadable": "Unreadable"}


class Command(SutureCommand):
    help = (
        "Say what is wrong with stored sessions, and which provider will refuse them with which words. Nothing is"
        " written."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        path_argument(parser)
        session_argument(parser)
        target_arguments(parser)
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="one JSON document")
        form.add_argument("--ndjson", action="store_true", help="one JSON session object a line")
        parser.add_argument(
            "--fail-on",
            choices=tuple(_FAILING),
            default="blocked",
            help="the health from which on the exit code is 1",
        )

    def run(self, *, path: str | None, json: bool, ndjson: bool, fail_on: str, **options: Any) -> int:
        health: Counter[str] = Counter()
        with open_path(path) as store:
            source = {"path": path or str(store.path), "kind": store.kind, "dialects": list(store.dialects)}
            whole = store_report(store=store, seconds=QUICK_SECONDS)
            found = self._sessions(store, whole, native=path != "-" and is_native(store.path), **options)
            if json:
                found = iter(documents := list(found))  # whole or not there: an unreadable store gives none
                self.result({"source": source, "store": whole.document(), "sessions": documents})
            for document in found:
                if not (json or ndjson or health):
                    self.tell(f"{source['path']} ({source['kind']}: {', '.join(store.dialects)})")
                health[document["health"]] += 1
                if ndjson:
                    self.result(document)
                elif not json:
                    self._session_in_words(document)
            for problem in store.problems:
                self.say(f"{problem.where}: {problem.reason}")
            self._store_in_words(whole, self.say if json or ndjson else self.tell)
        if not json and not ndjson:
            self.tell(_summary(health))
        return FOUND_IT if any(health[word] for word in _FAILING[fail_on]) else 0

    def _sessions(
        self,
        store: Store,
        whole: StoreReport,
        *,
        native: bool,
        session: list[str],
        target: str,
        thinking: Thinking,
        **_: Any,
    ) -> Iterator[dict[str, Any]]:
        check = [] if whole.check is None else list(whole.check.messages)
        facts = store_facts(store=store, native=native, now=datetime.now(UTC), check=check)
        titles = {row["id"]: row.get("title") for row in store.sessions()}
        if target:
            parse_target(target)  # what cannot be read is bad usage, and no session's fault
        for session_id in session or titles:
            try:
                rows = store.read(session_id)
            except StoreError as problem:
                if problem.kind == "no-session" and session:
                    raise
                yield _unreadable(str(session_id), str(titles.get(session_id) or ""), problem.words)
                continue
            try:
                decoded = dialects.decode(rows)
                own: Facts = session_facts(facts, rows)
                wanted = session_target(target, thinking, decoded)
                document = as_document(decoded, scan(decoded, target=wanted, thinking=thinking, facts=own))
                to_text(document)
            except Exception as problem:  # one odd session must not cost the others
                said = f"Suture failed on this session ({type(problem).__name__}: {problem})."
                document = _unreadable(str(session_id), str(titles.get(session_id) or ""), said)
                self.say(f"{session_id}: {said}")
            yield document

    def _store_in_words(self, whole: StoreReport, write: Callable[[str], None]) -> None:
        for finding in whole.findings:
            write(f"\nStore      {finding.severity:<8} {finding.rule}: {finding.summary}")
        if whole.check is not None and whole.check.state == "unfinished":
            self.say("SQLite's check of the whole file was stopped, since it took too long.")

    def _session_in_words(self, document: dict[str, Any]) -> None:
        self.tell(
            f"\n{_WORDS.get(document['health'], document['health']):<10} {document['id']} "
            f" {printable(document['title'])}"
        )
        for finding in document["findings"]:
            self.tell(f"  {finding['severity']:<8} {finding['rule']}: {finding['summary']}")
        own = (document["target"] or {}).get("protocol")
        for protocol, verdict in sorted(document["verdicts"].items(), key=lambda item: item[0] != own):
            whose = "its own target" if protocol == own else "not its target"
            for violation in verdict["violations"][:3]:
                self.tell(f"  {protocol} ({whose}) refuses it ({violation['rule']}): {violation['error']}")


def _unreadable(session_id: str, title: str, why: str) -> dict[str, Any]:
    return {
        "id": session_id,
        "title": title,
        "health": "unreadable",
        "target": None,
        "reasons": [why],
        "findings": [],
        "verdicts": {},
    }


def _summary(health: Counter[str]) -> str:
    total = health.total()
    parts = [f"{count} {_WORDS.get(word, word).lower()}" for word, count in sorted(health.items())]
    return f"\n{total} session{'' if total == 1 else 's'}" + (f": {', '.join(parts)}" if parts else "")
