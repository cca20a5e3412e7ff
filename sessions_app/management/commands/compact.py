"""``suture compact``: summarise a session that its client cannot compact, and write what the client would have
written."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sessions_app.domain import dialects, rowdoc
from sessions_app.domain.processor import Usage
from sessions_app.management import declared
from sessions_app.management.base import (
    BAD_USAGE,
    FOUND_IT,
    SutureCommand,
    one_session,
    open_path,
)
from sessions_app.management.repairbase import written
from sessions_app.providers import Cancel, Line, NotReachable
from sessions_app.services.compacting import (
    CompactionPreview,
    Ready,
    changes_preview,
    compaction_prepare,
    summary_changes,
)
from sessions_app.services.probing import ProbeRefused
from sessions_app.services.repair.clients import clients_of, held_words
from sessions_app.services.repair.write import store_write
from sessions_app.services.scanning import target_document
from sessions_app.services.summarising import Progress, SummaryFailed, limits, summarise_piece
from sessions_app.stores.base import About, Store
from sessions_app.stores.changes import GuardRefused


class Command(declared.Compact, SutureCommand):
    def run(self, *, path: str | None, send: bool, json: bool, **options: Any) -> int:
        if path == "-" and not (options["output"] or options["dry_run"] or not send):
            raise ValueError("What comes from stdin cannot be written in place; name an --output.")
        read_only = options["dry_run"] or not send
        with open_path(path, options["input"]) as original, written(original, options["output"], read_only) as store:
            try:
                return self._compact(store, send, json, options)
            except ProbeRefused as refusal:
                self.say(refusal.words)
                return BAD_USAGE if refusal.kind in ("endpoint", "target") else FOUND_IT
            except (SummaryFailed, NotReachable, GuardRefused) as problem:
                self.say(str(problem))
                return FOUND_IT

    def _compact(self, store: Store, send: bool, json: bool, options: dict[str, Any]) -> int:
        rows = store.read(one_session(store, options["session"]))
        # Files are the client's own here, also where they are copies that it will open.
        ready = compaction_prepare(rows=rows, live=True, target=options["target"], thinking=options["thinking"])
        clients = [] if options["output"] or options["dry_run"] else clients_of(store.holders())
        if clients and send and not options["force"]:
            self.say(held_words(clients))
            return FOUND_IT
        self.say(
            f"{'Sending' if send else 'Would send (--send does)'} {len(ready.work.text):,} characters of conversation"
            f" to {ready.endpoint.host} in {ready.requests} request{'s' if ready.requests != 1 else ''} or more, for"
            f" {ready.target.protocol}:{ready.target.provider}/{ready.target.model}."
        )
        if not send:
            if json:
                self.result(_document(ready, None, None, ""))
            return 0
        made = self._summarise(ready)
        now = datetime.now(UTC)
        changes = summary_changes(ready, made, now)
        preview = changes_preview(rows, changes)
        repair = ""
        if not options["dry_run"]:
            repair = _write(store, ready, changes, now, copy=options["output"] is not None)
        if json:
            self.result(_document(ready, made, preview, repair))
        else:
            self.tell(made.summary)
            if repair:
                self.say(f"Repair {repair} is kept; take it back with: suture undo {repair}")
        return 0

    def _summarise(self, ready: Ready) -> Progress:
        at = Progress(0, ready.work.prior, Usage(), None, ready.work.chunk, 0)
        cancel = Cancel()
        with (
            Line(ready.endpoint, ready.target.protocol, limits()) as line,
            self.err.progress("Summarising", len(ready.work.text)) as meter,
        ):
            while at.done < len(ready.work.text):
                at = summarise_piece(line=line, target=ready.target, text=ready.work.text, at=at, cancel=cancel)
                meter.at(at.done)
        return at


def _write(store: Store, ready: Ready, changes: tuple[Any, ...], now: datetime, *, copy: bool) -> str:
    before = rowdoc.rows_hash(ready.rows)
    expect = {ready.rows.id: before}
    if copy:
        store.apply(changes, journal=None, expect=expect)
        return ""
    after = rowdoc.rows_hash(dialects.apply(ready.rows, changes))
    about = About(actor="command", reason="compacted", hashes={ready.rows.id: (before, after)})
    return store_write(store=store, changes=changes, about=about, now=now, expect=expect).repair_id


def _document(ready: Ready, made: Progress | None, preview: CompactionPreview | None, repair: str) -> dict[str, Any]:
    document: dict[str, Any] = {
        "session": ready.rows.id,
        "target": target_document(ready.target),
        "host": ready.endpoint.host,
        "size": len(ready.work.text),
        "requests": ready.requests if made is None else made.requests,
        "sent": made is not None,
    }
    if made is not None and preview is not None:
        accepted = preview.verdict.accepted if preview.verdict is not None else None
        document |= {"summary": made.summary, "cost": made.cost, "accepted": accepted, "repair": repair}
    return document
