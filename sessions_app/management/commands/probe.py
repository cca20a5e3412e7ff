"""``suture probe``: ask the provider whether it accepts a session now."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from sessions_app.management import declared
from sessions_app.management.base import (
    BAD_USAGE,
    FOUND_IT,
    SutureCommand,
    one_session,
    open_path,
)
from sessions_app.models import Session
from sessions_app.services.actor import Actor
from sessions_app.services.database import database_is_there
from sessions_app.services.probing import (
    Answered,
    Prepared,
    ProbeOptions,
    ProbeRefused,
    probe_keep,
    probe_prepare,
    probe_send,
)
from sessions_app.services.scanning import target_document


class Command(declared.Probe, SutureCommand):
    def run(self, *, path: str | None, send: bool, json: bool, **options: Any) -> int:
        with open_path(path, options["input"]) as store:
            rows = store.read(one_session(store, options["session"]))
            file = str(store.path.resolve())
        wanted = ProbeOptions(options["target"], options["thinking"], as_stored=not options["as_repaired"])
        try:
            prepared = probe_prepare(rows=rows, options=wanted)
            if options["payload"]:
                with open(options["payload"], "wb") as stream:
                    stream.write(prepared.request)
            self.say(_question(prepared, send))
            with self.err.progress("Waiting for the provider", shown=send):
                answered = probe_send(prepared=prepared) if send else None
        except ProbeRefused as refusal:
            self.say(refusal.words)
            return FOUND_IT if refusal.kind == "lowering" else BAD_USAGE
        if answered is not None:
            _keep(file, rows.id, prepared, answered)
        if json:
            self.result(_document(rows.id, prepared, answered))
        elif answered is not None:
            self._in_words(answered)
        return FOUND_IT if answered is not None and answered.answer != "accepted" else 0

    def _in_words(self, answered: Answered) -> None:
        words = {"accepted": "Accepted", "refused": "Refused", "failed": "No answer to the question"}
        cost = "" if answered.cost is None else f", ${answered.cost:.4f}"
        self.tell(f"{words[answered.answer]} after {answered.milliseconds / 1000:.1f} s{cost}.")
        if answered.error:
            self.tell(answered.error)
        for place in answered.locations:
            where = " ".join(word for word in (place["message"], place["part"]) if word)
            self.tell(f"  {place['means']}" + (f": {where}" if where else ""))


def _question(prepared: Prepared, send: bool) -> str:
    target = prepared.target
    verb = "Sending" if send else "Would send (--send does)"
    return (
        f"{verb} {prepared.size:,} bytes to {prepared.endpoint.host} for"
        f" {target.protocol}:{target.provider}/{target.model}."
    )


def _document(session_id: str, prepared: Prepared, answered: Answered | None) -> dict[str, Any]:
    document: dict[str, Any] = {
        "session": session_id,
        "target": target_document(prepared.target),
        "host": prepared.endpoint.host,
        "size": prepared.size,
        "digest": prepared.digest,
        "as_stored": prepared.as_stored,
        "sent": answered is not None,
    }
    if answered is not None:
        document |= asdict(answered) | {
            "locations": list(answered.locations),
            "usage": asdict(answered.usage),
        }
    return document


def _keep(file: str, session_id: str, prepared: Prepared, answered: Answered) -> None:
    """In the session's history, where Suture's own database knows the file."""
    if not database_is_there():
        return
    known = Session.objects.filter(stored_id=session_id, source__path=file).first()
    if known is not None:
        probe_keep(
            session=known,
            prepared=prepared,
            answered=answered,
            actor=Actor("command", "command"),
            now=datetime.now(UTC),
        )
