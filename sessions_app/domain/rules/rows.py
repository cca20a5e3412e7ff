"""Rows that do not parse or belong nowhere, and a damaged file (docs/contract/rules.md#2.25, #2.26, #2.29)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.model import LINE, V1, Message, Part, RowFault
from sessions_app.domain.repair import Operation

from .context import GOES_ON, Context
from .finding import Finding, lossy, safe
from .operations import delete_message, delete_part, delete_parts, delete_row, edit_session
from .registration import rule


@rule("corrupt-json", severity="blocked", safety="lossy", needs="faulty")
def find_corrupt(context: Context) -> Iterator[Finding]:
    """Rows whose JSON does not parse, and a revert column that does not."""
    for fault in context.session.faults:
        if fault.rule == context.rule:
            yield _corrupt_column(context, fault) if fault.table == "session" else _corrupt(context, fault)


def _corrupt_column(context: Context, fault: RowFault) -> Finding:
    clear = edit_session({fault.path: None}, "the column is not JSON")
    return context.finding(
        f"The session's {fault.path} column is not JSON: {fault.reason}",
        lossy("clear", "Clear the column; the restore point keeps its bytes", clear),
        severity="blocked" if fault.fatal else "at-risk",
        details={
            "table": "session",
            "row": fault.id,
            "path": fault.path,
            "reason": fault.reason,
            "error": fault.words,
            "certainty": "measured",
        },
        mark=fault.path,
    )


def _corrupt(context: Context, fault: RowFault) -> Finding:
    part = context.parts_by_id.get(fault.id) if fault.table in ("part", LINE) else None
    message = context.messages_by_id.get(part.message_id if part else fault.id)
    why = "its JSON cannot be read"
    label = "Take the row out; the restore point keeps its bytes"
    choices = []
    if part is not None:
        choices = [lossy("quarantine", label, delete_part(part, why))]
    elif message is not None and fault.table == "message":
        label += f", with its {len(message.parts)} parts" if message.parts else ""
        choices = [lossy("quarantine", label, delete_message(message, why))]
    elif message is not None and fault.table == "session_message":
        choices = [lossy("quarantine", label, delete_row(message, why))]
    goes_on = context.goes_on(message)
    return context.finding(
        f"{fault.table} {fault.id} is not readable JSON: {fault.reason}" + (GOES_ON if goes_on else ""),
        *choices,
        messages=[message] if message else [],
        parts=[part] if part else [],
        severity="at-risk" if goes_on or (fault.table == LINE and not fault.fatal) else "blocked",
        details={
            "table": fault.table,
            "row": fault.id,
            "reason": fault.reason,
            "error": fault.words,
            "certainty": "measured",
        },
        safety="manual" if part is None and message is not None and message.parts else None,
        mark=fault.id,
    )


@rule("orphan-row", severity="at-risk", safety="lossy")
def find_orphans(context: Context) -> Iterator[Finding]:
    """Parts without a message, parts filed under another session, and a session whose project is not there."""
    orphans = context.session.orphans
    if orphans:
        gone = delete_parts(orphans, "its message is not in the session")
        yield context.finding(
            f"{len(orphans)} parts belong to messages that are not stored",
            lossy("delete", "Remove them; the restore point keeps their bytes", *gone),
            messages=sorted({part.message_id for part in orphans}),
            parts=orphans,
            details={"kinds": sorted({part.kind for part in orphans})},
            mark="parts",
        )
    rows = context.session.rows
    owners = {row.get("session_id") for table in (rows.messages, rows.parts) for row in table}
    for message in context.session.history(V1) if len(owners) > 1 else ():
        own = (None, message.session_id)
        strays = [part for part in message.parts if part.row and part.row.get("session_id") not in own]
        if strays and message.session_id:
            yield _misfiled(context, message, strays)
    yield from _project(context)


def _misfiled(context: Context, message: Message, strays: list[Part]) -> Finding:
    columns = {"session_id": message.session_id}
    why = "a part belongs to the session of its message"
    refile = [Operation("replace", "part", message.id, part.id, columns=columns, why=why) for part in strays]
    return context.finding(
        f"{len(strays)} parts of {message.id} are filed under another session",
        safe("refile", "File them under their message's session", *refile),
        messages=[message],
        parts=strays,
        details={"session": message.session_id},
        mark="session_id",
    )


def _project(context: Context) -> Iterator[Finding]:
    known = [project.get("id") for project in context.session.rows.projects]
    wanted = context.row.get("project_id")
    if not context.facts.complete or not known or wanted is None or wanted in known:
        return
    choices = []
    if "global" in known:
        file = edit_session({"project_id": "global"}, f"project {wanted} is not in the store")
        choices = [lossy("to-global", "File it under project global", file)]
    yield context.finding(
        f"The session's project {wanted} is not in the store, so its client cannot open it",
        *choices,
        severity="blocked",
        details={"project": wanted, "error": "UnknownError", "certainty": "measured"},
        mark="project",
    )


@rule("sqlite-corrupt", severity="at-risk", safety="manual")
def find_corrupt_store(context: Context) -> Iterator[Finding]:
    """Damage that SQLite itself reported of the file; the same for every session in it."""
    if context.facts.check:
        yield context.finding(
            "SQLite reports damage in the database file",
            details={
                "check": list(context.facts.check),
                "hint": "Recover into a new file; the original is kept as it is.",
            },
        )
