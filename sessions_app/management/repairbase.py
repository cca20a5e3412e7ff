"""What ``repair``, ``dedupe`` and ``drop`` share: they are one run with other rules."""

from __future__ import annotations

import shutil
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sessions_app import stores
from sessions_app.domain.wish import Wish, choices_named
from sessions_app.services.handback.copy import store_copy
from sessions_app.services.handback.patch import store_patches
from sessions_app.services.repair.files import file_repair
from sessions_app.services.repair.report import FileReport, SessionOutcome
from sessions_app.services.repair.write import journal_recover
from sessions_app.stores.base import Store
from sessions_app.stores.sqlite.store import SqliteStore
from sessions_app.stores.undisturbed import undisturbed

from .base import (
    FOUND_IT,
    STDIN,
    SutureCommand,
    history_argument,
    jobs_argument,
    open_path,
    path_argument,
    rules_arguments,
    session_argument,
    target_arguments,
)
from .printing import Cell, Page, Tone, Toned
from .writing import whole_file

_WORDS = {"would-repair": "would be repaired", "nothing": "left as it is"}
_TONES: dict[str, Tone] = {"repaired": "good", "would-repair": "warn", "refused": "bad", "unreadable": "bad"}


class RepairCommand(SutureCommand):
    """``preset``: the rules and the safety that it applies, None = the user's choice."""

    preset: Wish | None = None

    def add_arguments(self, parser: ArgumentParser) -> None:
        path_argument(parser)
        session_argument(parser)
        target_arguments(parser)
        history_argument(parser)
        if self.preset is None:
            rules_arguments(parser)
            parser.add_argument(
                "--choice",
                action="append",
                default=[],
                metavar="KEY=NAME",
                help="how a finding or a rule is repaired, whatever is recommended",
            )
        parser.add_argument("--dry-run", action="store_true", help="say what would be done; write nothing")
        where = parser.add_mutually_exclusive_group()
        where.add_argument(
            "--output",
            metavar="FILE",
            help="repair a copy, of the same kind as PATH; - writes a document to stdout",
        )
        where.add_argument(
            "--patch",
            metavar="FILE.sql",
            help="write an SQL patch for the sqlite3 program instead of repairing",
        )
        parser.add_argument(
            "--force", action="store_true", help="also close what a running client may still be working on"
        )
        parser.add_argument("--json", action="store_true", help="the report as JSON")
        jobs_argument(parser)

    def run(
        self,
        *,
        path: str | None,
        output: str | None,
        patch: str | None,
        dry_run: bool,
        json: bool,
        **options: Any,
    ) -> int:
        _check_usage(path, output, patch, dry_run, json)
        wish = self._wish(options)
        for told in journal_recover(now=datetime.now(UTC)):
            self.say(told)
        with (
            open_path(path, options["input"]) as original,
            written(_apart(original, output, patch), output, dry_run or bool(patch)) as store,
        ):
            words, total = "Planning" if dry_run else "Repairing", len(options["session"]) or len(store.session_ids())
            with self.err.progress(words, total) as meter:
                report = file_repair(
                    store=store,
                    wish=wish,
                    session_ids=options["session"],
                    now=datetime.now(UTC),
                    dry_run=dry_run or bool(patch),
                    copy=output is not None,
                    jobs=options["jobs"],
                    told=meter.at,
                )
            if patch:
                self._write_patch(Path(patch), original, report)
        if json:
            self.result(
                report.document()
                | {
                    "path": path or report.path,
                    "dry_run": dry_run,
                    "output": output or "",
                    "patch": patch or "",
                }
            )
        else:
            self._in_words(report, self.err if output == "-" else self.out)
        return 0 if report.complete else FOUND_IT

    def _wish(self, options: dict[str, Any]) -> Wish:
        preset = self.preset
        return Wish.of(
            rules=options["rule"] if preset is None else preset.rules,
            safety=options["safety"] if preset is None else preset.safety,
            choices=choices_named(options["choice"]) if preset is None else preset.choices,
            target=options["target"],
            thinking=options["thinking"],
            history=options["history"],
            force=options["force"],
        )

    def _write_patch(self, target: Path, store: Store, report: FileReport) -> None:
        if not isinstance(store, SqliteStore):
            raise ValueError("An SQL patch can only be made for a database.")
        database = "DATABASE" if store.path.name == STDIN else store.path
        undo = target.with_suffix(".undo.sql")
        patch, back = store_patches(store, report.changes, made_for=store.path.name, extents=report.extents)
        with whole_file(undo) as second, whole_file(target) as first:
            first.write_text(patch, encoding="utf-8")
            second.write_text(back, encoding="utf-8")
        self.say(f"The patch is {target}, its undo {undo}. Apply it with: sqlite3 {database} < {target}")

    def _in_words(self, report: FileReport, page: Page) -> None:
        for warning in report.warnings:
            self.say(warning)
        for session in sorted(report.sessions, key=lambda one: one.complete):  # what needs attention first
            _in_words(session, page)
        if all(session.outcome == "nothing" for session in report.sessions):
            page.line("Nothing to repair.")
        for repair in report.repairs:
            page.line(f"Repair {repair} is kept; take it back with: suture undo {repair}")
        if report.repairs and report.backup:
            self.say(f"A full backup of the file is {report.backup}")


def _check_usage(path: str | None, output: str | None, patch: str | None, dry_run: bool, json: bool) -> None:
    if path == "-" and not (output or patch or dry_run):
        raise ValueError("What comes from stdin cannot be repaired in place; name an --output (- is stdout).")
    if output == "-" and json:
        raise ValueError("--json and --output - would both write to stdout.")


def _in_words(session: SessionOutcome, page: Page) -> None:
    if session.outcome == "nothing" and not session.left and not session.skipped:
        return
    words = _WORDS.get(session.outcome, session.outcome)
    page.line(session.id, f"{session.title}:", Toned(words, _TONES.get(session.outcome, "")))
    if session.why:
        page.line(f"  {session.why}")
    rows: list[tuple[Cell, ...]] = []
    for operation in session.operations:
        place = operation["part"] or operation["message"] or "session"
        rows.append((f"{operation['action']} {operation['subject']}", place, operation["why"]))
    page.rows(rows, indent=2)
    for key, why in session.skipped:
        page.line(f"  not repaired, {key.partition(':')[0]}: {why}")
    for summary in session.left:
        page.line(Toned("  still blocked:", "bad"), summary)


def _apart(original: Store, *results: str | None) -> Store:
    """The store, where no result would be written over it: that would go around the guard and the restore point."""
    for result in results:
        named = bool(result) and result != "-" and Path(result or "").exists() and original.path.exists()
        if named and original.path.samefile(result or ""):
            raise ValueError(f"{result} is the file that is read; leave the option out to repair it in place.")
    return original


@contextmanager
def written(original: Store, output: str | None, read_only: bool) -> Iterator[Store]:
    """The store that is repaired: the original, or a copy of it that ends up at ``output`` only when all went well."""
    if output is None or read_only:
        yield original
        return
    folder: Path | None = None
    try:
        with undisturbed():
            beside = None if output == "-" else Path(output).resolve().parent
            folder = Path(tempfile.mkdtemp(prefix=".suture-", dir=beside))
        copy = folder / (original.path.name if output == "-" else Path(output).name)
        store_copy(store=original, destination=copy)
        with stores.open_store(copy, original.kind) as store:
            store.configuration, store.input = original.configuration, original.input
            yield store
        if output == "-":
            if copy.is_dir() or original.kind == "sqlite":
                raise ValueError("Only documents can be written to stdout; name a file.")
            sys.stdout.write(copy.read_text(encoding="utf-8"))
        else:
            _put(copy, Path(output))
    finally:
        with undisturbed():
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)


def _put(copy: Path, output: Path) -> None:
    if copy.is_dir():
        if output.exists():
            raise ValueError(f"{output} exists already; a folder is never replaced.")
        copy.rename(output)
        return
    beside = [Path(f"{output}{suffix}") for suffix in ("-wal", "-shm", "-journal")]
    if any(path.exists() for path in beside):
        raise ValueError(f"{output} is a database in use (it has a write-ahead log beside it); choose another file.")
    copy.replace(output)
