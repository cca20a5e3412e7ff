"""The forms in which a session goes back (docs/handing-back.md), in the words of every face."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from sessions_app.domain import dialects

from .outlook import Outlook

type Form = Literal["database", "export", "export-2x", "patch", "undo", "rows", "report", "bundle", "tree"]
FORMS: tuple[Form, ...] = get_args(Form.__value__)


@dataclass(frozen=True, slots=True)
class HandBackForm:
    """``use``: how it is used; ``repaired``: the repairs that are asked for are in it, else it is as stored;
    ``written_back``: it goes into the client's own files, so nothing in it can be masked."""

    title: str
    what: str
    use: str
    ending: str
    content_type: str
    repaired: bool = True
    written_back: bool = False

    @property
    def suffix(self) -> str:
        """ ".sql"."""
        return f".{self.ending.rpartition('.')[2]}"

    def words(self, told: Outlook) -> str:
        """What is in a file of this form, as pages, commands, API and audit say it."""
        return f"{self.title}. {told.words}"


HANDBACK: Mapping[Form, HandBackForm] = MappingProxyType(
    {
        "database": HandBackForm(
            "Repaired copy of the database",
            "The whole database with this session changed in it; log-ins blanked.",
            "Put it in the place of opencode.db while opencode is closed.",
            "db",
            "application/vnd.sqlite3",
            written_back=True,
        ),
        "tree": HandBackForm(
            "Repaired copy of the storage tree",
            "The whole folder with this session changed in it.",
            "Unpack it in the place of the old folder while opencode is closed.",
            "storage.tgz",
            "application/gzip",
            written_back=True,
        ),
        "export": HandBackForm(
            "Export for opencode import",
            "This session alone, under new ids; it stands beside the old one.",
            "`opencode import FILE` in the project's folder",
            "json",
            "application/json",
        ),
        "export-2x": HandBackForm(
            "Export for the import of opencode 2.x",
            "This session alone, in the rows of 2.x, under new ids. Its shapes were read in source, not tried.",
            "`opencode import FILE` of 2.x in the project's folder",
            "2x.json",
            "application/json",
        ),
        "patch": HandBackForm(
            "SQL patch for the sqlite3 program",
            "Only the changed rows. It changes nothing where a row is not what it was.",
            "`sqlite3 opencode.db < FILE`",
            "sql",
            "application/sql",
            written_back=True,
        ),
        "undo": HandBackForm(
            "Undo script of that patch",
            "It takes the patch back.",
            "`sqlite3 opencode.db < FILE`",
            "undo.sql",
            "application/sql",
            written_back=True,
        ),
        "report": HandBackForm(
            "Report for a ticket (Markdown)",
            "What is wrong, which provider says what, what the repair changes.",
            "Paste it into the ticket.",
            "md",
            "text/markdown; charset=utf-8",
        ),
        "rows": HandBackForm(
            "Row document, as stored",
            "Every row exactly as stored. Nothing is repaired in it.",
            "For another Suture, or to keep.",
            "rows.json",
            "application/json",
            repaired=False,
        ),
        "bundle": HandBackForm(
            "Redacted bundle for a bug report",
            "Every row as stored, all texts masked. Nothing is repaired in it.",
            "Attach it to a public bug report.",
            "bundle.json",
            "application/json",
            repaired=False,
        ),
    }
)


def forms_of(kind: str, dialect: str) -> tuple[Form, ...]:
    """The forms that make sense for a session of this kind of store and dialect, the nearest to its owner first."""
    left = {"database", "patch", "undo"} if kind != "sqlite" else set()
    left |= {"tree"} if kind != "storage" else set()
    left |= set() if dialects.named(dialect).exported else {"export", "export-2x"}
    return tuple(form for form in HANDBACK if form not in left)
