"""A session handed back, in every form that its owner may take (docs/handing-back.md); one service for commands, API
and pages."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sessions_app import __version__, stores
from sessions_app.domain import rowdoc
from sessions_app.domain.handback.extent import Extent, extent
from sessions_app.domain.handback.redact import bundle
from sessions_app.domain.handback.report import report
from sessions_app.domain.model import SessionRows
from sessions_app.domain.planning import compose
from sessions_app.domain.repair import RowChange
from sessions_app.domain.scan import scan
from sessions_app.domain.secrets import masked
from sessions_app.domain.wish import Wish
from sessions_app.ruletexts import rule_texts
from sessions_app.services.repair.bench import Bench, OpenStore
from sessions_app.services.rulesversion import rules_version
from sessions_app.stores.base import Store, StoreError
from sessions_app.stores.changes import GuardRefused
from sessions_app.stores.intake import disarm
from sessions_app.stores.sqlite.store import SqliteStore

from .copy import store_copy
from .exportdoc import ExportDocument, NotExportable, export_documents
from .forms import HANDBACK, Form
from .outlook import Applied, Outlook, applied_to_upload, outlook, outlook_before, together
from .patch import store_patches

if TYPE_CHECKING:  # commands on bare files start without Django
    from sessions_app.models import Session

NOT_APPLIED = Applied()
HELD = 16_000_000
"""Bytes of a form that are held in memory."""


class HandBackRefused(Exception):
    """The session cannot be handed back in this form. ``kind``: form (of no use for its kind of store or rows), nothing
    (there is nothing to repair with these options), store (it cannot be read), wish (it names what the session does
    not have), masked (it would hold keys unmasked)."""

    def __init__(self, kind: Literal["form", "nothing", "store", "wish", "masked"], words: str) -> None:
        super().__init__(words)
        self.kind = kind
        self.words = words


@dataclass(frozen=True, slots=True)
class HandOptions:
    """``repaired``: the session as it is after the repair that is wished for, else as stored. ``fresh``: an export
    under new ids. ``children``: an export with the subagents' sessions. ``secrets``: a database keeps the client's own
    log-ins. ``masked``: for somebody who may not see what looks like a key; forms that are written back whole are
    refused."""

    repaired: bool = True
    fresh: bool = True
    children: bool = False
    secrets: bool = False
    masked: bool = False


@dataclass(frozen=True, slots=True)
class Handed:
    """A file to hand over: in ``data``, or at ``path`` while the context is open. ``notes`` are for whoever gets it,
    what is in it (``outlook``) first."""

    name: str
    content_type: str
    outlook: Outlook
    data: bytes = b""
    path: Path | None = None
    notes: tuple[str, ...] = ()


@contextmanager
def session_handed(
    *, session: Session, form: Form, options: HandOptions, wish: Wish, now: datetime
) -> Iterator[Handed]:
    """The session of the mirror as its source holds it now; where that cannot be read, forms that need no file are made
    of the mirror.

    Raises ``HandBackRefused``.
    """
    from sessions_app.selectors.rows import session_rows
    from sessions_app.services.reading import stored_id

    source = session.source
    if options.masked and HANDBACK[form].written_back:
        raise HandBackRefused(
            "masked", "This form may hold keys that you may not see. Ask somebody who may repair, or take the bundle."
        )
    try:
        with source.open_store() as store:
            whole = OpenStore(store, now, source.native, agents=False)
            bench = known_names(Bench(store.read(stored_id(session)), wish, whole))
            applied = applied_to_upload(session)
            with handed(bench=bench, form=form, options=options, source=source.name, applied=applied) as made:
                yield made
        return
    except StoreError as problem:
        if HANDBACK[form].written_back or session.imported_at is None:
            raise HandBackRefused("store", f"{problem.words} {problem.next_step}".strip()) from problem
        note = f"The source could not be read just now ({problem.words}), so this is what was imported before."
    bench = known_names(Bench(session_rows(session), wish))
    with _folder() as folder:
        made = _Maker(bench, options, source.name, applied_to_upload(session), folder).made(form)
        yield replace(made, notes=(*made.notes, note))


def known_names(bench: Bench) -> Bench:
    """The bench, whose wish names what its session has. Raises ``HandBackRefused``."""
    if bench.misnamed:
        raise HandBackRefused("wish", bench.misnamed)
    return bench


@contextmanager
def handed(
    *, bench: Bench, form: Form, options: HandOptions, source: str, applied: Applied = NOT_APPLIED
) -> Iterator[Handed]:
    """One session of an open store in a form. ``applied``: what was repaired in our copy of an upload. Raises
    ``HandBackRefused``, ``StoreError``."""
    with _folder() as folder:
        maker = _Maker(bench, options, source, applied, folder)
        yield maker.copied(form, folder) if form in ("database", "tree") else maker.made(form)


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="suture-handback-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Maker:
    """``folder`` is for what is too long to be held; without one there is nothing to be made, only to be told of."""

    def __init__(
        self, bench: Bench, options: HandOptions, source: str, applied: Applied, folder: Path | None = None
    ) -> None:
        self.applied = applied
        self.folder = folder
        self.bench = bench
        self.rows = bench.rows
        self.store = bench.whole.store if bench.whole is not None else None
        self.options = options
        self.source = source

    def made(self, form: Form) -> Handed:
        if form == "rows":
            return self._handed(form, chain(rowdoc.pieces(self.rows), "\n"))
        if form == "bundle":
            made_by = {"suture": __version__, "rules": rules_version()}
            self.bench.let_go()
            return self._handed(form, chain(bundle(self.rows, made_by), "\n"))
        if form == "report":
            return self._handed(form, [self._report()])
        return self._export(form) if form in ("export", "export-2x") else self._patch(undo=form == "undo")

    def copied(self, form: Form, folder: Path) -> Handed:
        """A copy of the whole store with this session repaired in it."""
        kind = "sqlite" if form == "database" else "storage"
        if self.store is None or self.store.kind != kind:
            words = "a database" if kind == "sqlite" else "a storage tree"
            raise HandBackRefused("form", f"This session does not come from {words}.")
        copy = folder / ("opencode.db" if form == "database" else "storage")
        store_copy(store=self.store, destination=copy)
        changes = self.bench.plan.changes if self.options.repaired else ()
        if changes:
            with unchanged(), stores.open_store(copy, kind) as written:
                written.apply(changes, journal=None, expect={self.rows.id: rowdoc.rows_hash(self.rows)})
        if form == "tree":
            packed = folder / "storage.tgz"
            with tarfile.open(packed, "w:gz") as archive:
                archive.add(copy, "storage")
            return self._handed(form, path=packed)
        notes: tuple[str, ...] = ()
        if not self.options.secrets:
            notes = (
                *disarm(copy),
                "Log-ins of the client are blanked in the copy; log in again where it takes the place of the original.",
            )
        return self._handed(form, path=copy, notes=notes)

    def _after(self, bench: Bench) -> SessionRows:
        return bench.rows_after if self.options.repaired else bench.rows

    def _report(self) -> str:
        bench = self.bench
        before = scan(bench.decoded, target=bench.target, facts=bench.facts)
        plan = bench.plan if self.options.repaired else None
        after = None
        if plan is not None and plan.changes:
            after = scan(bench.after, target=bench.target, facts=bench.facts)
        text = report(bench.decoded, before, plan, after, texts=rule_texts(), source=self.source)
        return f"{text}\nSuture {__version__}, rules {rules_version()}.\n"

    def _export(self, form: Form) -> Handed:
        family = [self.bench]
        if self.options.children and self.store is not None:
            mine = self.bench
            family += (Bench(rows, mine.wish, mine.whole, mine.session) for rows in _descendants(self.store, self.rows))
        try:
            documents = export_documents(
                [self._after(bench) for bench in family], fresh=self.options.fresh, new_line=form == "export-2x"
            )
        except NotExportable as refusal:
            raise HandBackRefused("form", str(refusal)) from refusal
        if len(documents) == 1:
            made = self._handed(form, chain(documents[0].pieces(), "\n"))
            words, *hidden = made.notes
            return replace(made, notes=(words, *_notes(documents), *hidden))
        each = [(bench.rows.id, outlook(bench, repaired=self.options.repaired)) for bench in family]
        told = self._shown(together(each))
        name = f"{file_name(self.rows.id)}.zip"
        file = _place(self.folder, name)
        notes = _zip(documents, told.words, file, masked if self.options.masked else str)
        return Handed(name, "application/zip", told, path=file, notes=notes)

    def _patch(self, *, undo: bool) -> Handed:
        """Against the file that its owner has: for an upload as it was, whatever was repaired in our copy."""
        if not isinstance(self.store, SqliteStore):
            raise HandBackRefused("form", "A patch is for a database; this session comes from another kind of store.")
        written = patched(self.bench, self.applied, repaired=self.options.repaired)
        if not written.changes:
            raise HandBackRefused("nothing", "There is nothing to repair with these options.")
        told = self.outlook("undo" if undo else "patch")
        patch, back = store_patches(
            self.store, written.changes, made_for=self.rows.id, extents=[written.extents], says=told.words
        )
        return self._handed("undo", [back]) if undo else self._handed("patch", [patch])

    def outlook(self, form: Form) -> Outlook:
        """What is in the form."""
        bench, applied = self.bench, self.applied
        if form == "undo":
            return self._shown(outlook_before(bench, applied))
        repaired = HANDBACK[form].repaired and self.options.repaired
        return self._shown(outlook(bench, repaired=repaired, applied=applied.rules))

    def _shown(self, told: Outlook) -> Outlook:
        """Findings quote what is stored."""
        return replace(told, left=tuple(map(masked, told.left))) if self.options.masked else told

    def _handed(
        self, form: Form, pieces: Iterable[str] = (), *, path: Path | None = None, notes: tuple[str, ...] = ()
    ) -> Handed:
        kind, told = HANDBACK[form], self.outlook(form)
        name = f"{file_name(self.rows.id)}.{kind.ending}"
        hidden: list[str] = []

        def shown(piece: str) -> bytes:
            safe = masked(piece) if self.options.masked else piece
            if safe != piece and not hidden:
                hidden.append("What looks like a key is masked.")
            return safe.encode("utf-8", "surrogateescape")

        data = b""
        if path is None:
            data, path = _held(map(shown, pieces), _place(self.folder, name))
        return Handed(name, kind.content_type, told, data, path, (kind.words(told), *notes, *hidden))


def _place(folder: Path | None, name: str) -> Path:
    assert folder is not None
    return folder / name


def _held(pieces: Iterator[bytes], file: Path) -> tuple[bytes, Path | None]:
    """All pieces, or the file that holds them where they are more than ``HELD``."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size > HELD:
            with file.open("wb") as out:
                out.writelines(chain(held, pieces))
            return b"", file
    return b"".join(held), None


@contextmanager
def unchanged() -> Iterator[None]:
    """A copy that holds other rows than were read before it was made is a ``HandBackRefused``."""
    try:
        yield
    except GuardRefused as refusal:
        raise HandBackRefused("store", f"The store changed while it was copied: {refusal} Try again.") from refusal


@dataclass(frozen=True, slots=True)
class Patched:
    """Row changes of a patch, and how much its session holds before and after."""

    changes: tuple[RowChange, ...]
    extents: tuple[Extent, Extent]


def patched(bench: Bench, applied: Applied, *, repaired: bool) -> Patched:
    """From the session as its owner has it to the session as it is after the plan, or as it is stored."""
    changes = compose((*applied.changes, *(bench.plan.changes if repaired else ())))
    after = bench.rows_after if repaired else bench.rows
    return Patched(changes, (extent(applied.before(bench).rows), extent(after)))


def _descendants(store: Store, rows: SessionRows) -> list[SessionRows]:
    """Sessions of subagents, and theirs, parents first."""
    children: dict[str, list[str]] = {}
    for row in store.sessions():
        if isinstance(row.get("parent_id"), str):
            children.setdefault(row["parent_id"], []).append(str(row["id"]))
    found: list[SessionRows] = []
    seen, waiting = {rows.id}, [rows.id]
    while waiting:
        for child in children.get(waiting.pop(0), ()):
            if child not in seen:
                seen.add(child)
                waiting.append(child)
                kept = store.read(child)
                if kept.messages:
                    found.append(kept)
    return found


def _notes(documents: Sequence[ExportDocument]) -> tuple[str, ...]:
    """What is to be known of documents that are written."""
    notes = dict.fromkeys(note for document in documents for note in document.notes)
    left = (f"Left out: {one.table} {one.id}: {one.reason}" for document in documents for one in document.left_out)
    return (*notes, *left)


def _zip(documents: Sequence[ExportDocument], words: str, file: Path, shown: Callable[[str], str]) -> tuple[str, ...]:
    """The documents in the order of their import, and what to know about them, which is given back; the same bytes for
    the same content."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, document in enumerate(documents, 1):
            name = f"{number:03}-{file_name(document.session_id)}.json"
            with archive.open(_entry(name), "w") as out:
                for piece in document.pieces():
                    out.write(shown(piece).encode("utf-8", "surrogateescape"))
        notes = (words, *_notes(documents))
        readme = "Import the files in this order, each with opencode import.\n\n" + "".join(
            f"- {note}\n" for note in notes
        )
        archive.writestr(_entry("README.md"), readme.encode("utf-8", "replace"))
    return notes


def _entry(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))


def file_name(text: str) -> str:
    return (
        "".join(letter for letter in text if letter.isascii() and (letter.isalnum() or letter in "_-"))[:80]
        or "session"
    )
