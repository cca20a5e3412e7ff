"""A session with its structure kept and its texts masked, to be attached to a bug report
(docs/handing-back.md#bundle)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from sessions_app.domain import dialects, jsjson
from sessions_app.domain.fartexts import beside
from sessions_app.domain.model import LINE, Row, SessionRows, line_row
from sessions_app.domain.rowdoc import pieces, rows_hash
from sessions_app.domain.scan import SessionScan, scan

from .masking import Masker

_KEPT: Final = frozenset(
    {
        "type",
        "role",
        "tool",
        "status",
        "mode",
        "agent",
        "variant",
        "finish",
        "rawFinish",
        "reason",
        "mime",
        "version",
        "hash",
        "snapshot",
        "outcome",
        "vcs",
        "media_type",
        "mediaType",
        "format",
        "level",
    }
)
"""Members whose text says how a session is built, not what was said in it."""

_SAID: Final = frozenset(
    {
        "input",
        "output",
        "structured",
        "result",
        "title",
        "raw",
        "description",
        "prompt",
        "command",
        "arguments",
        "diffs",
        "baseline",
    }
)
_PATHS: Final = frozenset({"directory", "worktree", "cwd", "root", "sandboxes", "path"})
_IDS: Final = frozenset(
    {
        "id",
        "sessionID",
        "sessionId",
        "session_id",
        "aggregate_id",
        "messageID",
        "message_id",
        "partID",
        "parentID",
        "parent_id",
        "callID",
        "toolCallId",
        "itemId",
        "providerID",
        "modelID",
        "projectID",
        "project_id",
        "workspaceID",
        "workspace_id",
        "shellID",
        "tail_start_id",
    }
)
"""Members that name rows, calls, models and providers. Other members that end in "ID" may name people."""
_PLAIN = re.compile(r"(?!/)[A-Za-z0-9_.:|+/=@-]{0,128}\Z")
"""What machines make of ids and names. Anything else, such as a shell command that became a tool's name, is masked."""

_LONGEST_ID: Final = 100

_JSON_COLUMNS: Final = frozenset(
    {
        "data",
        "prompt",
        "summary_diffs",
        "metadata",
        "revert",
        "permission",
        "model",
        "sandboxes",
        "snapshot",
        "commands",
    }
)

_ID = re.compile(r'"(?:callID|id)"\s*:\s*"([^"\\]+)"')


def redacted(rows: SessionRows) -> SessionRows:
    """The rows with every text masked. The same rows always give the same masks."""
    mask = _Mask(_masker(rows))
    return replace(
        rows,
        session=mask.row(rows.session),
        projects=[mask.row(row) for row in rows.projects if row.get("id") == rows.session.get("project_id")],
        siblings=[mask.row(row) for row in rows.siblings],
    ).with_tables(
        {
            name: [mask.line(row) if name == LINE else mask.row(row) for row in stored]
            for name, stored in rows.tables().items()
        }
    )


def _masker(rows: SessionRows) -> Masker:
    rows_of_all = (row for stored in rows.tables().values() for row in stored)
    ids = {name for row in rows_of_all for name in _ID.findall(str(row.get("data", "")))}
    return Masker(hashlib.sha256(b"suture bundle\0" + rows_hash(rows).encode()).digest(), frozenset(ids))


def bundle(rows: SessionRows, made_by: Mapping[str, str]) -> Iterator[str]:
    """The bundle, in pieces: a row document that ``suture scan`` reads, with what was found beside it.

    ``not_reproduced`` names findings of the session that the masked rows do not show, so that nobody is misled.
    """
    own = replace(rows, projects=[row for row in rows.projects if row.get("id") == rows.session.get("project_id")])
    before = scan(dialects.decode(own))  # one decoded session at a time
    masked = redacted(own)
    after = scan(dialects.decode(masked))
    shown = {_finding_key(finding) for finding in _findings(after)}
    found = _findings(before, _masker(own))
    header = {
        **made_by,
        "masked": "texts, names of files, media and secrets; ids, kinds, times, sizes and counts are as stored",
        "health": before.health,
        "findings": found,
        "not_reproduced": [finding for finding in found if _finding_key(finding) not in shown],
    }
    return pieces(masked, {"suture_bundle": header})


def _findings(result: SessionScan, masker: Masker | None = None) -> list[dict[str, Any]]:
    """What was found, its places named as in the masked rows: a V2 item's id is its call's."""

    def named(places: tuple[str, ...]) -> list[str]:
        return [masker.unless_secret(place) if masker else place for place in places]

    return [
        {
            "rule": finding.rule,
            "severity": finding.severity,
            "safety": finding.safety,
            "messages": named(finding.messages),
            "parts": named(finding.parts),
        }
        for finding in result.findings
    ]


def _finding_key(finding: Mapping[str, Any]) -> str:
    return repr(finding)


class _Mask:
    def __init__(self, masker: Masker) -> None:
        self.masker = masker

    def row(self, row: Row) -> Row:
        return beside(row, {column: self._cell(column, value) for column, value in row.items()})

    def line(self, row: Row) -> Row:
        """Findings name a line by its file's name, which is kept as other ids are."""
        return line_row(row["session_id"], row["file"], row["line"], self._json("data", row["data"]))

    def _cell(self, column: str, value: Any) -> Any:
        if isinstance(value, bytes):
            return hashlib.shake_128(self.masker.letters(value.hex()).encode()).digest(len(value))
        if not isinstance(value, str):
            return value
        if column in _IDS:
            return self.masker.unless_secret(value)
        if column in ("type", "version", "agent", "vcs", "dialect", "delivery"):
            return self._kept(value)
        if column in _JSON_COLUMNS:
            return self._json(column, value)
        return self.masker.path(value) if column in _PATHS else self.masker.text(value)

    def _json(self, column: str, value: str) -> str:
        try:
            return jsjson.dumps(self._value(column, jsjson.loads(value)))
        except (ValueError, RecursionError):
            return self.masker.letters(value)

    def _value(self, key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return [self._value(key, item) for item in value]
        return self._text(key, value) if isinstance(value, str) else value

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        mime = value.get("mime")
        found: dict[str, Any] = {}
        for key, item in value.items():
            if key in _SAID and not (key == "input" and isinstance(item, dict) and not item):
                found[key] = item if isinstance(item, (int, float)) else self._said(item)
            elif key == "error" and isinstance(item, dict):
                name = {"name": self._kept(item["name"])} if isinstance(item.get("name"), str) else {}
                found[key] = self.masker.answered(item) | name
            elif key == "data" and isinstance(item, str) and isinstance(mime, str):
                found[key] = self.masker.media(item, mime.lower())
            elif key == "name" and isinstance(item, str) and not isinstance(mime, str):
                found[key] = self._kept(item)
            else:
                found[self.masker.key(key)] = self._value(key, item)
        return found

    def _said(self, value: Any) -> Any:
        """A tool's output may hold files, which keep their kind; all else in it is what was said."""
        if isinstance(value, list):
            return [
                self._object(item) if isinstance(item, dict) and "type" in item else self.masker.said(item)
                for item in value
            ]
        return self.masker.said(value)

    def _text(self, key: str, value: str) -> str:
        if key in ("callID", "id") and len(value) <= _LONGEST_ID:
            # Two odd ids may be told apart, or not, by the client's own replacements.
            return self.masker.unless_secret(value)
        if key in _KEPT or key in _IDS:
            return self._kept(value)
        if key in ("url", "uri"):
            return self.masker.url(value)
        return self.masker.path(value) if key in _PATHS else self.masker.text(value)

    def _kept(self, value: str) -> str:
        return self.masker.unless_secret(value) if _PLAIN.match(value) else self.masker.letters(value)
