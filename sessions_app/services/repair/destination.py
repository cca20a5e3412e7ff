"""Where a repair of the mirror's session is written: to its own file, or to the mirror alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from django.db import transaction

from sessions_app.domain import dialects, rowdoc
from sessions_app.domain.model import SessionRows
from sessions_app.domain.repair import RowChange
from sessions_app.domain.scan import scan
from sessions_app.models import Repair, Session
from sessions_app.services.mirror import session_write
from sessions_app.services.reading import session_read
from sessions_app.services.scanning import scan_write
from sessions_app.stores.backup import Backup
from sessions_app.stores.base import About, Store
from sessions_app.stores.fileturns import V2_REFUSED

from .bench import OpenStore
from .refusal import RepairRefused
from .write import full_backup, journal


class Destination(Protocol):
    """What takes a repair's rows."""

    def together(self) -> AbstractContextManager[object]:
        """Around the whole: what the history says and the rows, where they lie in one database."""

    def backup(self, *, batch: str) -> Backup: ...

    def write(self, changes: Sequence[RowChange], about: About, expect: Mapping[str, str]) -> None:
        """All or nothing. Raises ``GuardRefused``, ``StoreError``, ``OSError``: nothing was written."""

    def follow(self, session: Session) -> None:
        """Bring the mirror to what was written."""


@dataclass(frozen=True, slots=True)
class OwnFile:
    """The session's file: the agent's own, which is backed up first, or our copy of an upload."""

    whole: OpenStore

    def together(self) -> AbstractContextManager[object]:
        return nullcontext()

    def backup(self, *, batch: str) -> Backup:
        return (
            full_backup(store=self.whole.store, now=self.whole.now, batch=batch) if self.whole.agents else Backup(None)
        )

    def write(self, changes: Sequence[RowChange], about: About, expect: Mapping[str, str]) -> None:
        self.whole.store.apply(changes, journal=journal(self.whole.now), about=about, expect=expect)

    def follow(self, session: Session) -> None:
        """Where this fails the session stays pending, so that its next reading catches up."""
        session.pending = True
        session.save(update_fields=("pending",))
        session_read(session=session, store=self.whole.store, facts=self.whole.facts, now=self.whole.now)


@dataclass(frozen=True, slots=True)
class MirrorAlone:
    """Suture's copy: V2 rows that no file takes (docs/contract/design.md#7). ``Repair.path`` is "" for them.

    Raises ``RepairRefused`` for a session of an attached file, which the mirror only follows.
    """

    session: Session
    after: SessionRows
    now: datetime

    def __post_init__(self) -> None:
        if self.session.source.live:
            raise RepairRefused("store", V2_REFUSED)

    def together(self) -> AbstractContextManager[object]:
        return transaction.atomic()

    def backup(self, *, batch: str) -> Backup:
        return Backup(None, "Written to Suture's copy alone.")

    def write(self, changes: Sequence[RowChange], about: About, expect: Mapping[str, str]) -> None:
        decoded, hashed = dialects.decode(self.after), rowdoc.rows_hash(self.after)
        session_write(session=self.session, rows=self.after, decoded=decoded, rows_hash=hashed, now=self.now)
        scan_write(session=self.session, decoded=decoded, result=scan(decoded), now=self.now)

    def follow(self, session: Session) -> None:
        """It is the mirror."""


def file_of(*, repair: Repair, store: Store, now: datetime) -> OwnFile:
    """The file that a repair of the history was written to, opened anew."""
    source = repair.session.source if repair.session is not None else repair.source
    if source is None:
        return OwnFile(OpenStore(store, now))
    return OwnFile(OpenStore(store, now, source.native, source.damage, agents=source.live))
