"""A whole store handed back: all its sessions repaired in one copy, or in one patch."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from sessions_app import stores
from sessions_app.domain.handback.extent import Extent
from sessions_app.domain.patience import paced
from sessions_app.domain.repair import RowChange
from sessions_app.domain.wish import Wish
from sessions_app.services.repair.bench import Bench, OpenStore
from sessions_app.stores.base import Store, StoreError
from sessions_app.stores.intake import disarm
from sessions_app.stores.sqlite.store import SqliteStore

from .copy import store_copy
from .forms import HANDBACK
from .handing import NOT_APPLIED, HandBackRefused, Handed, HandOptions, file_name, patched, unchanged
from .outlook import Applied, Outlook, applied_to_upload, outlook, outlook_before, together
from .patch import store_patches

if TYPE_CHECKING:  # commands on bare files start without Django
    from sessions_app.models import Source

type WholeForm = Literal["database", "patch", "undo", "tree"]
WHOLE_FORMS: tuple[WholeForm, ...] = get_args(WholeForm.__value__)
BLANKED = "Log-ins of the client are blanked in the copy; log in again where it takes the place of the original."


def whole_forms_of(kind: str) -> tuple[WholeForm, ...]:
    """The forms that make sense for a store of this kind as a whole."""
    return {"sqlite": WHOLE_FORMS[:3], "storage": WHOLE_FORMS[3:]}.get(kind, ())


def stuck_count(*, source: Source) -> int:
    """Sessions of a source that safe repairs leave blocked, as they were scanned last."""
    from django.db.models import Exists, OuterRef

    from sessions_app.models import Finding, Session

    not_safe = Finding.objects.filter(session=OuterRef("pk"), severity="blocked").exclude(safety="safe")
    found = Session.objects.filter(source=source)
    blocked = found.filter(Exists(not_safe), health=Session.Health.BLOCKED).count()
    return blocked + found.filter(health=Session.Health.UNREADABLE).count()


@dataclass(slots=True)
class _Found:
    """What is planned for each session of a store."""

    changes: list[tuple[RowChange, ...]] = field(default_factory=list)
    patch: list[RowChange] = field(default_factory=list)
    extents: list[tuple[Extent, Extent]] = field(default_factory=list)
    after: list[tuple[str, Outlook]] = field(default_factory=list)
    before: list[tuple[str, Outlook]] = field(default_factory=list)


@contextmanager
def source_handed(
    *, source: Source, form: WholeForm, options: HandOptions, wish: Wish, now: datetime
) -> Iterator[Handed]:
    """All sessions of a source. Raises ``HandBackRefused``."""
    from sessions_app.services.reading import stored_id

    applied = {}
    if not source.live:
        applied = {stored_id(one): applied_to_upload(one) for one in source.sessions.select_related("source")}
    try:
        with (
            source.open_store() as store,
            whole_handed(
                whole=OpenStore(store, now, source.native, agents=False),
                form=form,
                options=options,
                wish=wish,
                name=source.name,
                applied=applied,
            ) as made,
        ):
            yield made
    except StoreError as problem:
        raise HandBackRefused("store", f"{problem.words} {problem.next_step}".strip()) from problem


@contextmanager
def whole_handed(
    *,
    whole: OpenStore,
    form: WholeForm,
    options: HandOptions,
    wish: Wish,
    name: str,
    applied: Mapping[str, Applied] | None = None,
) -> Iterator[Handed]:
    """All sessions of an open store. ``applied``: what was repaired in our copy of an upload, by session. Raises
    ``HandBackRefused``, ``StoreError``."""
    store = whole.store
    if form not in whole_forms_of(store.kind):
        raise HandBackRefused("form", f"A whole {store.kind} store is not handed back in this form.")
    found = _planned(whole, options, wish, applied or {}, undo=form == "undo")
    if form in ("patch", "undo"):
        yield _scripts(store, form, found, name)
        return
    folder = Path(tempfile.mkdtemp(prefix="suture-handback-"))
    try:
        yield _copied(store, form, found, name, folder, secrets=options.secrets)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _planned(
    whole: OpenStore, options: HandOptions, wish: Wish, applied: Mapping[str, Applied], *, undo: bool
) -> _Found:
    found = _Found()
    for session_id in paced(whole.store.session_ids()):
        name = str(session_id)
        try:
            bench = Bench(whole.store.read(session_id), wish, whole)
        except StoreError as problem:
            found.after.append((name, Outlook("unreadable", left=(problem.words,))))
            continue
        mine = applied.get(name, NOT_APPLIED)
        changes = bench.plan.changes if options.repaired else ()
        if undo:
            found.before.append((name, outlook_before(bench, mine)))
        else:
            found.after.append((name, outlook(bench, repaired=options.repaired, applied=mine.rules)))
        if changes:
            found.changes.append(changes)
        written = patched(bench, mine, repaired=options.repaired)
        if written.changes:
            found.patch += written.changes
            found.extents.append(written.extents)
    return found


def _scripts(store: Store, form: WholeForm, found: _Found, name: str) -> Handed:
    if not found.patch or not isinstance(store, SqliteStore):
        raise HandBackRefused("nothing", "There is nothing to repair with these options.")
    told = together(found.before if form == "undo" else found.after)
    patch, back = store_patches(store, found.patch, made_for=name, extents=found.extents, says=told.words)
    kind, text = HANDBACK[form], back if form == "undo" else patch
    data = text.encode("utf-8", "surrogateescape")
    return Handed(
        f"{file_name(Path(name).stem)}.{kind.ending}", kind.content_type, told, data, notes=(kind.words(told),)
    )


def _copied(store: Store, form: WholeForm, found: _Found, name: str, folder: Path, *, secrets: bool) -> Handed:
    copy = folder / ("opencode.db" if form == "database" else "storage")
    store_copy(store=store, destination=copy)
    if found.changes:
        with unchanged(), stores.open_store(copy, store.kind) as written:
            for changes in found.changes:
                written.apply(changes, journal=None, expect={})
    told = together(found.after)
    kind = HANDBACK[form]
    notes: tuple[str, ...] = (kind.words(told),)
    if form == "tree":
        packed = folder / "storage.tgz"
        with tarfile.open(packed, "w:gz") as archive:
            archive.add(copy, "storage")
        copy = packed
    elif not secrets:
        notes = (*notes, *disarm(copy), BLANKED)
    return Handed(f"{file_name(Path(name).stem)}.{kind.ending}", kind.content_type, told, path=copy, notes=notes)
