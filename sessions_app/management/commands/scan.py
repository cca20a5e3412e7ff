"""``suture scan``: read-only, needs no database of its own."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from json import loads
from typing import Any, Literal

from sessions_app.domain.judging import OPENS_WITH
from sessions_app.domain.rowcodec import to_text
from sessions_app.domain.wire.target import Thinking, parse_target
from sessions_app.management.base import (
    FOUND_IT,
    SutureCommand,
    history_argument,
    jobs_argument,
    open_path,
    path_argument,
    session_argument,
    target_arguments,
)
from sessions_app.management.printing import Cell, Page, Tone, Toned, counted
from sessions_app.pool import over, waiting
from sessions_app.services.filescan import Asked, failed, load, scanner
from sessions_app.services.handback.storereport import StoreReport, store_report
from sessions_app.services.storefacts import QUICK_SECONDS, facts_apart, is_native, store_facts
from sessions_app.stores.base import Store

_FAILING = {
    "blocked": ("blocked", "unreadable"),
    "at-risk": ("blocked", "unreadable", "at-risk"),
    "never": (),
}
_WORDS = {"blocked": "Blocked", "unreadable": "Unreadable", "at-risk": "At risk", "healthy": "Healthy"}
"""The words for each health, the worst first."""
_TONES: dict[str, Tone] = {"blocked": "bad", "unreadable": "bad", "at-risk": "warn", "healthy": "good"}


class Command(SutureCommand):
    help = (
        "Say what is wrong with stored sessions, and which provider will refuse them with which words. Nothing is"
        " written."
    )
    examples = (
        ("suture scan", "opencode's own database"),
        ("suture scan customer.db --session ses_... --target openai-chat:acme/model-1", "one session, for that model"),
        ("suture scan customer.db --json", "for programs; exit code 1 where a session is blocked"),
        ("opencode export ses_... | suture scan -", "what another program writes"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        path_argument(parser)
        session_argument(parser)
        target_arguments(parser)
        history_argument(parser)
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="one JSON document")
        form.add_argument("--ndjson", action="store_true", help="one JSON session object a line")
        parser.add_argument(
            "--fail-on",
            choices=tuple(_FAILING),
            default="blocked",
            help="the health from which on the exit code is 1",
        )
        parser.add_argument("--all", action="store_true", help="list healthy sessions too; else they are counted")
        jobs_argument(parser)

    def run(self, *, path: str | None, json: bool, ndjson: bool, fail_on: str, all: bool, **options: Any) -> int:
        health: Counter[str] = Counter()
        every = json or ndjson or all or bool(options["session"])
        listed: list[tuple[str, str]] = []
        with waiting(path, options["jobs"], load) as spares, open_path(path, options["input"]) as store:
            source = {"path": path or str(store.path), "kind": store.kind, "dialects": list(store.dialects)}
            whole = store_report(store=store, seconds=QUICK_SECONDS)
            native = path != "-" and is_native(store.path)
            total = len(options["session"]) or len(store.session_ids())
            with self.err.progress("Scanning", total, shown=not ndjson) as meter:
                for word, document in self._sessions(
                    store, whole, native=native, every=every, spares=spares, **options
                ):
                    health[word] += 1
                    meter.at(health.total())
                    if ndjson:
                        self.data(document)
                    elif document:
                        listed.append((word, document))
            if json:  # whole or not there: an unreadable store gives none
                self._whole({"source": source, "store": whole.document()}, listed)
            elif not ndjson:
                name = "stdin" if path == "-" else source["path"]
                self.tell(f"{name} ({source['kind']}: {', '.join(source['dialects'])})")
                for _, document in sorted(listed, key=lambda one: list(_WORDS).index(one[0])):
                    self._session_in_words(loads(document))
            for problem in store.problems:
                self.say(f"{problem.where}: {problem.reason}")
            self._store_in_words(whole, self.err if json or ndjson else self.out)
        if not json and not ndjson:
            self.tell(_summary(health, hidden=len(listed) < health.total()))
        return FOUND_IT if any(health[word] for word in _FAILING[fail_on]) else 0

    def _whole(self, head: dict[str, Any], listed: Sequence[tuple[str, str]]) -> None:
        """The one JSON document, whose sessions are text already."""
        self.stdout.write(f'{to_text(head)[:-1]},"sessions":[')
        for place, (_, document) in enumerate(listed):
            self.stdout.write(f"{',' if place else ''}{document}")
        self.stdout.write("]}\n")

    def _sessions(
        self,
        store: Store,
        whole: StoreReport,
        *,
        native: bool,
        every: bool,
        session: list[str],
        target: str,
        thinking: Thinking,
        history: Literal["", "opencode-v1", "opencode-v2"],
        jobs: int,
        spares: list[Any],
        **_: Any,
    ) -> Iterator[tuple[str, str]]:
        """The health of each session, and its document as JSON text where it is wanted."""
        check = [] if whole.check is None else list(whole.check.messages)
        facts = store_facts(store=store, native=native, now=datetime.now(UTC), check=check)
        titles = {row["id"]: row.get("title") for row in store.sessions()}
        if target:
            parse_target(target)  # what cannot be read is bad usage, and no session's fault
        asked = Asked(facts_apart(facts), target, thinking, history, named=bool(session), healthy=every)
        ids = session or list(titles)
        lost = lambda _, words: failed(words)  # noqa: E731
        scans = over(store, ids, scanner, asked, lost=lost, jobs=jobs, say=self.say, spares=spares)
        for session_id, scanned in zip(ids, scans, strict=True):
            if scanned.ours:
                self.say(f"{session_id}: {scanned.why}")
            if scanned.why:
                gone = _unreadable(str(session_id), str(titles.get(session_id) or ""), scanned.why)
                yield scanned.health, to_text(gone)
            else:
                yield scanned.health, scanned.document

    def _store_in_words(self, whole: StoreReport, page: Page) -> None:
        if whole.findings:
            page.line("")
        page.rows(("Store", *_finding(one.severity, one.rule, one.summary)) for one in whole.findings)
        if whole.check is not None and whole.check.state == "unfinished":
            self.say("SQLite's check of the whole file was stopped, since it took too long.")

    def _session_in_words(self, document: dict[str, Any]) -> None:
        word = f"{_WORDS[document['health']]:<10}"
        self.tell("")
        self.tell(Toned(word, _TONES[document["health"]]), document["id"], Toned(_line(document["title"]), "strong"))
        if known := _known(document["target"] or {}):
            self.tell(Toned(f"  {known}", "quiet"))
        rows = [_finding(one["severity"], one["rule"], one["summary"]) for one in document["findings"]]
        if task := document.get("opens_with"):
            rows.append((Toned("comes first", "quiet"), task, OPENS_WITH[task]))
        own = (document["target"] or {}).get("protocol")
        for protocol, verdict in sorted(document["verdicts"].items(), key=lambda item: item[0] != own):
            where = Toned("refused by", "bad") if protocol == own else Toned("if sent to", "quiet")
            for violation in verdict["violations"][:3]:
                rows.append((where, f"{protocol} ({violation['rule']})", violation["error"]))
        self.out.rows(rows, indent=2)
        for reason in document.get("reasons", ()) if document["health"] == "unreadable" else ():
            self.tell(f"  {reason}")


def _finding(severity: str, rule: str, summary: str) -> tuple[Cell, ...]:
    return Toned(severity, _TONES.get(severity, "quiet")), rule, summary


def _known(target: dict[str, Any]) -> str:
    """What is known of the model from elsewhere, and whose word it is; "" for nothing."""
    if not target.get("known_by"):
        return ""
    whose = "from your configuration" if target["known_by"] == "configuration" else "as --input says"
    reads = f"reads {', '.join(target['input'])}; " if target["input"] else ""
    return f"{target['provider']}/{target['model']}: {reads}{target['package']}, {whose}"


def _line(text: str) -> str:
    return " ".join(text.split("\n"))


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


def _summary(health: Counter[str], *, hidden: bool) -> str:
    parts = [f"{health[word]:,} {words.lower()}" for word, words in _WORDS.items() if health[word]]
    text = f"\n{counted(health.total(), 'session')}" + (f": {', '.join(parts)}" if parts else "")
    return text + ("; --all lists the healthy ones too" if hidden else "")
