"""What is done to a source as a whole: rows that belong nowhere taken out, its sessions brought into another source's
database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sessions_app.domain.handback.relink import Move
from sessions_app.models import ImportJob, Source
from sessions_app.services.audit import audit_record
from sessions_app.services.handback.storereport import strays_changes, strays_remove
from sessions_app.services.importing import source_sync
from sessions_app.services.repair.bench import OpenStore
from sessions_app.services.repair.refusal import RepairRefused, refusing

from .adopting import Adopted, adopt
from .relinking import Relinking, sessions_relink


def source_tidy(*, source: Source, actor: str, now: datetime, face: str = "web") -> tuple[str, int]:
    """Take rows that belong to no session out; gives the journal entry that ``undo`` takes ("" = none), and how many
    they were.

    Raises ``RepairRefused``: nothing was written.
    """
    with refusing(), source.open_store() as store:
        count = len(strays_changes(store=store))
        repair = strays_remove(store=store, actor=actor, now=now)
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
    """Bring sessions of ``source`` into the database of ``into``, or where both are one make those anew of which only
    events are left; a job that reads them there is queued, where any came.

    Raises ``RepairRefused``: nothing was written.
    """
    with refusing(), source.open_store() as given, into.open_store() as target:
        outcomes = adopt(source=given, target=target, session_ids=session_ids, actor=actor, now=now, dry_run=dry_run)
    if source.pk == into.pk and not outcomes:
        raise RepairRefused("nothing", "There is no session of which only events are left; choose another store.")
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


def source_relink(
    *, source: Source, move: Move, actor: str, now: datetime, face: str = "web", dry_run: bool = False
) -> tuple[Relinking, ImportJob | None]:
    """File all sessions of a folder that was moved where it is now, as one repair; a job that reads them again is
    queued.

    Raises ``RepairRefused``: nothing was written.
    """
    with refusing(), source.open_store() as store:
        whole = OpenStore(store, now, source.native, source.damage, agents=source.live)
        report = sessions_relink(whole=whole, move=move, actor=actor, dry_run=dry_run)
    if not report.changes and not report.sessions:
        raise RepairRefused("nothing", f"No session is filed in {move.old}.")
    if not report.repairs:
        return report, None
    audit_record(
        action="source.relinked",
        actor=actor,
        face=face,
        now=now,
        subject=("source", source.pk),
        name=source.name,
        count=len(report.changes) - len(report.moved),
        old=move.old,
        new=move.new,
        repair=report.repairs[0],
    )
    return report, source_sync(source=source, actor=actor, now=now, face=face)
