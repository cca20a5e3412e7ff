"""A session handed back, in every form that its owner may take (docs/handing-back.md); one service for commands, API
and pages."""

from __future__ import annotations

import io
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from sessions_app import __version__, stores
from sessions_app.domain import dialects, rowdoc
from sessions_app.domain.handback.extent import extent
from sessions_app.domain.handback.redact import bundle
from sessions_app.domain.handback.report import report
from sessions_app.domain.model import SessionRows
from sessions_app.domain.scan import scan
from sessions_app.domain.secrets import masked
from sessions_app.domain.wish import Wish
from sessions_app.ruletexts import rule_texts
from sessions_app.services.repair.bench import Bench, OpenStore
from sessions_app.services.rulesversion import rules_version
from sessions_app.stores.base import Store, StoreError
from sessions_app.stores.intake import disarm
from sessions_app.stores.sqlite.store import SqliteStore

from .copy import store_copy
from .exportdoc import ExportDocument, NotExportable, export_documents
from .patch import store_patches

if TYPE_CHECKING:  # commands on bare files start without Django
    from sessions_app.models import Session

type Form = Literal["database", "export", "patch", "undo", "rows", "report", "bundle", "tree"]
FORMS: tuple[Form, ...] = get_args(Form.__value__)

WORDS: dict[Form, str] = {
    "database": "Repaired copy of the database",
    "export": "Export for opencode import",
    "patch": "SQL patch for the sqlite3 program",
    "undo": "Undo script of that patch",
    "rows": "Row document, as stored",
    "report": "Report for a ticket (Markdown)",
    "bundle": "Redacted bundle for a bug report",
    "tree": "Repaired copy of the storage tree",
}

_PLANNED: frozenset[Form] = frozenset({"database", "export", "patch", "undo", "report", "tree"})
WRITTEN_BACK: frozenset[Form] = frozenset({"database", "tree", "patch", "undo"})
"""They go into the client's own files, so nothing in them can be masked."""
_KIND: dict[Form, tuple[str, str]] = {
    "database": ("application/vnd.sqlite3", "db"),
    "export": ("application/json", "json"),
    "patch": ("application/sql", "sql"),
    "undo": ("application/sql", "undo.sql"),
    "rows": ("application/json", "rows.json"),
    "report": ("text/markdown; charset=utf-8", "md"),
    "bundle": ("application/json", "bundle.json"),
    "tree": ("application/gzip", "storage.tgz"),
}


class HandBackRefused(Exception):
    """The session cannot be handed back in this form. ``kind``: form (of no use for its kind of store or rows), nothing
    (there is nothing to repair with these options), store (it cannot be read), masked (it would hold keys unmasked)."""

    def __init__(self, kind: Literal["form", "nothing", "store", "masked"], words: str) -> None:
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
    """A file to hand over: in ``data``, or at ``path`` while the context is open. ``notes`` are for whoever gets it."""

    name: str
    content_type: str
    data: bytes = b""
    path: Path | None = None
    notes: tuple[str, ...] = ()


def forms_of(kind: str, dialect: str) -> tuple[Form, ...]:
    """The forms that make sense for a session of this kind of store and dialect."""
    left = {"database", "patch", "undo"} if kind != "sqlite" else set()
    left |= {"tree"} if kind != "storage" else set()
    left |= set() if dialects.named(dialect).exported else {"export"}
    return tuple(form for form in FORMS if form not in left)


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
    if options.masked and form in WRITTEN_BACK:
        raise HandBackRefused(
            "masked", "This form may hold keys that you may not see. Ask somebody who may repair, or take the bundle."
        )
    try:
        with source.open_store() as store:
            whole = OpenStore(store, now, source.native, agents=False)
            bench = Bench(store.read(stored_id(session)), wish, whole)
            with handed(bench=bench, form=form, options=options, source=source.name) as made:
                yield made
        return
    except StoreError as problem:
        if form in WRITTEN_BACK or session.imported_at is None:
            raise HandBackRefused("store", f"{problem.words} {problem.next_step}".strip()) from problem
        note = f"The source could not be read just now ({problem.words}), so this is what was imported before."
    made = _Maker(Bench(session_rows(session), wish), options, source.name).made(form)
    yield replace(made, notes=(note, *made.notes))


@contextmanager
def handed(*, bench: Bench, form: Form, options: HandOptions, source: str) -> Iterator[Handed]:
    """One session of an open store in a form. Raises ``HandBackRefused``, ``StoreError``."""
    maker = _Maker(bench, options, source)
    if form not in ("database", "tree"):
        yield maker.made(form)
        return
    folder = Path(tempfile.mkdtemp(prefix="suture-handback-"))
    try:
        yield maker.copied(form, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Maker:
    def __init__(self, bench: Bench, options: HandOptions, source: str) -> None:
        self.bench = bench
        self.rows = bench.rows
        self.store = bench.whole.store if bench.whole is not None else None
        self.options = options
        self.source = source

    def made(self, form: Form) -> Handed:
        if form == "rows":
            return self._handed(form, rowdoc.dump(self.rows) + "\n")
        if form == "bundle":
            return self._handed(form, bundle(self.rows, {"suture": __version__, "rules": rules_version()}) + "\n")
        if form == "report":
            return self._handed(form, self._report())
        return self._export() if form == "export" else self._patch(undo=form == "undo")

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
            with stores.open_store(copy, kind) as written:
                written.apply(changes, journal=None, expect={self.rows.id: rowdoc.rows_hash(self.rows)})
        if form == "tree":
            packed = folder / "storage.tgz"
            with tarfile.open(packed, "w:gz") as archive:
                archive.add(copy, "storage")
            return self._handed(form, "", path=packed)
        notes: tuple[str, ...] = ()
        if not self.options.secrets:
            notes = (
                *disarm(copy),
                "Log-ins of the client are blanked in the copy; log in again where it takes the place of the original.",
            )
        return self._handed(form, "", path=copy, notes=notes)

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

    def _export(self) -> Handed:
        family = [self.bench]
        if self.options.children and self.store is not None:
            family += (replace(self.bench, rows=rows) for rows in _descendants(self.store, self.rows))
        try:
            documents = export_documents([self._after(bench) for bench in family], fresh=self.options.fresh)
        except NotExportable as refusal:
            raise HandBackRefused("form", str(refusal)) from refusal
        if self.options.masked:
            documents = tuple(replace(document, text=masked(document.text)) for document in documents)
        notes = tuple(dict.fromkeys(note for document in documents for note in document.notes))
        left = tuple(
            f"Left out: {one.table} {one.id}: {one.reason}" for document in documents for one in document.left_out
        )
        if len(documents) == 1:
            return self._handed("export", documents[0].text + "\n", notes=notes + left)
        return Handed(
            f"{_file_name(self.rows.id)}.zip",
            "application/zip",
            _zipped(documents, notes + left),
            notes=notes + left,
        )

    def _patch(self, *, undo: bool) -> Handed:
        if not isinstance(self.store, SqliteStore):
            raise HandBackRefused("form", "A patch is for a database; this session comes from another kind of store.")
        if not self.bench.plan.changes:
            raise HandBackRefused("nothing", "There is nothing to repair with these options.")
        patch, back = store_patches(
            self.store,
            self.bench.plan.changes,
            made_for=self.rows.id,
            extents=[(extent(self.rows), extent(self.bench.rows_after))],
        )
        return self._handed("undo", back) if undo else self._handed("patch", patch)

    def _handed(self, form: Form, text: str, *, path: Path | None = None, notes: tuple[str, ...] = ()) -> Handed:
        content_type, ending = _KIND[form]
        safe = masked(text) if self.options.masked else text
        if safe != text:
            notes = (*notes, "What looks like a key is masked.")
        return Handed(
            f"{_file_name(self.rows.id)}.{ending}",
            content_type,
            safe.encode("utf-8", "surrogateescape"),
            path,
            notes,
        )


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


def _zipped(documents: Sequence[ExportDocument], notes: Sequence[str]) -> bytes:
    """The documents in the order of their import, and what to know about them; the same bytes for the same content."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, document in enumerate(documents, 1):
            name = f"{number:03}-{_file_name(document.session_id)}.json"
            archive.writestr(
                zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), document.text.encode("utf-8", "surrogateescape")
            )
        readme = "Import the files in this order, each with opencode import.\n\n" + "".join(
            f"- {note}\n" for note in notes
        )
        archive.writestr(zipfile.ZipInfo("README.md", (1980, 1, 1, 0, 0, 0)), readme.encode("utf-8", "replace"))
    return out.getvalue()


def _file_name(text: str) -> str:
    return (
        "".join(letter for letter in text if letter.isascii() and (letter.isalnum() or letter in "_-"))[:80]
        or "session"
    )
