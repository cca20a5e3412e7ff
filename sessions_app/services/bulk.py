"""Repairs of many sessions: which ones, how, and what a user may ask of a batch. ``bulkrun`` does the work, in
chunks."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from sessions_app.domain.wish import DEDUPE, DROP, Wish
from sessions_app.models import RepairBatch, Session
from sessions_app.selectors.filters import SessionFilter
from sessions_app.selectors.sessions import session_query

from .audit import batch_audit
from .jobs import job_cancel


class BulkRefused(Exception):
    """What was asked of a batch is not possible in its state; the message says why."""


class BulkNothing(BulkRefused):
    """There is nothing to do."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A wish under a name, as menus offer it."""

    title: str
    wish: Wish


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "repair-safe": Preset("Repair all safe findings", Wish()),
        "dedupe": Preset("Dedupe repeated calls", DEDUPE),
        "drop": Preset("Drop tool calls whose thinking was lost", DROP),
        "discard-failed-attempts": Preset("Discard failed attempts", Wish(rules=("failed-attempt-leftovers",))),
        "close-stuck-tools": Preset("Close stuck tools", Wish(rules=("stuck-tool", "open-turn"))),
    }
)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which sessions: a filter, or ids ticked one by one."""

    filter: SessionFilter | None = None
    ids: tuple[int, ...] = ()

    def query(self) -> QuerySet[Session]:
        if self.filter is not None:
            return session_query(self.filter)
        return Session.objects.filter(pk__in=self.ids).order_by("pk")

    @property
    def words(self) -> str:
        if self.filter is not None:
            return self.filter.sentence()
        return f"{len(self.ids):,} chosen session{'' if len(self.ids) == 1 else 's'}"

    def as_dict(self) -> dict[str, Any]:
        return self.filter.as_dict() if self.filter is not None else {"ids": list(self.ids)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Selection:
        if "ids" in document:
            return cls(ids=tuple(int(number) for number in document["ids"]))
        return cls(filter=SessionFilter.from_query(document))


def selection_keep(store: MutableMapping[str, Any], selection: Selection) -> str:
    """Put a selection of ids into the browser session's ``store`` (too long for an address); its key. The last five are
    kept."""
    kept = dict(store.get("selections", {}))
    key = uuid.uuid4().hex[:12]
    kept[key] = selection.as_dict()
    store["selections"] = dict(list(kept.items())[-5:])
    return key


def selection_kept(store: Mapping[str, Any], key: str) -> Selection | None:
    """The selection under ``key``, None where it is not there any more."""
    document = store.get("selections", {}).get(key)
    return None if document is None else Selection.from_dict(document)


def bulk_start(
    *,
    selection: Selection,
    wish: Wish,
    stop_on_failure: bool = False,
    reason: str,
    actor: str,
    face: str,
    now: datetime,
) -> RepairBatch:
    """A new batch over the sessions that the selection stands for now; the caller enqueues its first chunk."""
    ids = list(selection.query().values_list("pk", flat=True))
    if not ids:
        raise BulkNothing("No session matches, so there is nothing to repair.")
    with transaction.atomic():
        batch = RepairBatch.objects.create(
            filter=selection.as_dict(),
            session_ids=ids,
            options={**wish.to_json(), "stop_on_failure": stop_on_failure},
            reason=reason,
            actor=actor,
            face=face,
            total=len(ids),
            created_at=now,
        )
        batch_audit(action="bulk.started", batch=batch, actor=actor, face=face, now=now, count=len(ids))
    return batch


def bulk_retry(*, batch: RepairBatch, actor: str, face: str, now: datetime) -> RepairBatch:
    """A new batch over the sessions that failed in ``batch``, with its options."""
    failed = tuple(batch.rows.filter(outcome="failed").order_by("place").values_list("session", flat=True))
    if batch.active or not failed:
        raise BulkRefused("This batch is still running.") if failed else BulkNothing("Nothing failed in this batch.")
    return bulk_start(
        selection=Selection(ids=failed),
        wish=Wish.from_json(batch.options),
        stop_on_failure=bool(batch.options.get("stop_on_failure")),
        reason=batch.reason,
        actor=actor,
        face=face,
        now=now,
    )


def bulk_cancel(*, batch: RepairBatch, actor: str, face: str, now: datetime) -> None:
    """Stop after the session in hand; what is done stays, and can be undone."""
    if not job_cancel(batch, now):
        raise BulkRefused("This batch is not running.")
    batch_audit(action="bulk.cancelled", batch=batch, actor=actor, face=face, now=now)


def bulk_undo(*, batch: RepairBatch, actor: str, face: str, now: datetime) -> None:
    """Take all repairs of a batch back, the last first; the caller enqueues the first chunk."""
    states = (RepairBatch.State.DONE, RepairBatch.State.CANCELLED, RepairBatch.State.FAILED)
    with transaction.atomic():
        begun = RepairBatch.objects.filter(pk=batch.pk, state__in=states).update(
            state=RepairBatch.State.UNDOING, lease_until=None, heartbeat_at=now, finished_at=None, error=""
        )
        if not begun:
            raise BulkRefused("This batch is still running." if batch.active else "It was taken back before.")
        batch_audit(action="bulk.undone", batch=batch, actor=actor, face=face, now=now)
