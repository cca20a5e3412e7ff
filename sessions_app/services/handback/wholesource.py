"""What is done to a source as a whole: rows that belong nowhere taken out, its sessions brought into another source's
database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sessions_app.models import ImportJob, Source
from sessions_app.services.audit import audit_record
from sessions_app.services.handback.storereport import strays_changes, strays_remove
from sessions_app.services.importing import source_sync
from sessions_app.services.writing import RepairRefused
from sessions_app.stores.base import StoreError
from sessions_app.stores.changes import GuardRefused

from .adopting import Adopted, adopt


def source_tidy(*, source: Source, actor: str, now: datetime, face: str = "web") -> tuple[str, int]:
    """Take rows that belong to no session out; gives the journal entry that ``undo`` takes ("" = none), and how many
    they were.

    Raises ``RepairRefused``: nothing was written.
    """
    try:
        with source.open_store() as store:
            count = len(strays_changes(store=store))
            repair = strays_remove(store=store, actor=actor, now=now)
    except (GuardRefused, StoreError) as refusal:
        raise _refused(refusal) from refusal
    if repair:
        audit_record(
            action="source.tidied",
            actor=actor,
            face=face,
            now=now,
            subject=("source", source.pk),
            name=source.name,
            count=count,
            repair=repair,
        )
    return repair, count


def source_adopt(
    *,
    source: Source,
    into: Source,
    session_ids: Sequence[str],
    actor: str,
    now: datetime,
    face: str = "web",
    dry_run: bool = False,
) -> tuple[list[Adopted], ImportJob | None]:
    """Bring sessions of ``source`` into the database of ``into``; a job that reads them there is queued, where any
    came.

    Raises ``RepairRefused``: nothing was written.
    """
    if source.pk == into.pk:
        raise RepairRefused("state", "Choose another source to bring them into.")
    try:
        with (
            source.open_store() as given,
            into.open_store() as target,
        ):
            outcomes = adopt(
                source=given, target=target, session_ids=session_ids, actor=actor, now=now, dry_run=dry_run
            )
    except (GuardRefused, StoreError) as refusal:
        raise _refused(refusal) from refusal
    brought = [one for one in outcomes if one.outcome == "adopted"]
    if not brought:
        return outcomes, None
    audit_record(
        action="source.adopted",
        actor=actor,
        face=face,
        now=now,
        subject=("source", into.pk),
        name=source.name,
        into=into.name,
        count=len(brought),
        repairs=[one.repair for one in brought],
    )
    return outcomes, source_sync(source=into, actor=actor, now=now, face=face)


def _refused(refusal: GuardRefused | StoreError) -> RepairRefused:
    if isinstance(refusal, GuardRefused):
        return RepairRefused("changed", str(refusal), [str(difference) for difference in refusal.changed])
    return RepairRefused("store", f"{refusal.words} {refusal.next_step}".strip())
