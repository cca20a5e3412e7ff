"""Rows that do not parse, do not fit the client's schema, or belong nowhere (rules 2.19, 2.25, 2.26, 2.29; format
A6)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.model import FilePart, Message, OtherPart, Part, RowFault, ToolPart
from sessions_app.domain.repair import Operation

from .base import Choice, Context, Finding, Rule, Severity
from .ops import delete_message, delete_part, edit_message, edit_part, edit_session, is_v2
from .rowdefaults import fill_message, fill_part

KNOWN_KINDS = frozenset(
    {
        "text",
        "reasoning",
        "tool",
        "step-start",
        "step-finish",
        "file",
        "compaction",
        "patch",
        "subtask",
        "agent",
        "snapshot",
        "retry",
    }
)


def find_undecodable(context: Context) -> Iterator[Finding]:
    """Fields that the client's schema misses, and part kinds it does not know."""
    for message in context.messages:
        if message.fault is not None and message.fault.rule == "undecodable-row" and not _of_item(message):
            yield _bad_message(context, message, message.fault)
        for part in message.parts:
            if part.fault is not None and part.fault.rule == "undecodable-row":
                yield _bad_part(context, message, part, part.fault)
            elif isinstance(part, OtherPart) and part.kind and part.kind not in KNOWN_KINDS and not is_v2(message):
                yield _unknown(message, part)
    yield from _refused(context)


def _refused(context: Context) -> Iterator[Finding]:
    """What stops the client at a part that its schema takes all the same (wire-rules 6.8 F15); files are
    ``media-rejected``, calls ``history-shape-foreign``."""
    verdict = context.verdict
    words = verdict.refusal if verdict else ""
    part = context.parts_by_id.get(verdict.details.get("part", "")) if verdict and words else None
    if part is None or part.fault is not None or isinstance(part, (FilePart, ToolPart)):
        return
    yield Finding(
        "undecodable-row",
        "blocked",
        "lossy",
        (part.message_id,),
        (part.id,),
        f"part {part.id} stops the client: {words}",
        {"table": "part", "row": part.id, "path": "", "error": words, "certainty": "measured"},
        (
            Choice(
                "quarantine",
                "Take the part out; the restore point keeps its bytes",
                "lossy",
                (delete_part(part, words),),
            ),
        ),
        mark="refusal",
    )


def _of_item(message: Message) -> bool:
    """A V2 message takes over the fault of its first bad item; the item is the one to repair."""
    return any(part.fault is message.fault for part in message.parts)


def _severity(context: Context, fault: RowFault) -> Severity:
    """Fatal where the client's words are those the verdict ends with; V2 cannot load a session with such a row at
    all."""
    refusal = context.verdict.refusal if context.verdict else ""
    if fault.fatal and (refusal or context.verdict is None):
        return "blocked"
    return "at-risk"


def _bad_message(context: Context, message: Message, fault: RowFault) -> Finding:
    edits = fill_message(context, message, fault)
    choices: tuple[Choice, ...] = ()
    if edits:
        operation = edit_message(message, edits, fault.reason)
        choices = (Choice("fill", f"Fill {fault.path} from what the session knows", "safe", (operation,)),)
    return _undecodable(context, fault, (message.id,), (), choices)


def _bad_part(context: Context, message: Message, part: Part, fault: RowFault) -> Finding:
    edits = fill_part(context, message, part, fault)
    choices = []
    if edits:
        choices.append(
            Choice(
                "fill",
                f"Fill {fault.path} from what the row and the session know",
                "safe",
                (edit_part(part, edits, fault.reason),),
            )
        )
    empty = not part.data or (part.kind == "text" and fault.path.rpartition(".")[2] == "text")
    remove = Choice(
        "quarantine",
        "Take the part out; the restore point keeps its bytes",
        "safe" if empty else "lossy",
        (delete_part(part, fault.reason),),
    )
    choices.append(remove)
    return _undecodable(context, fault, (message.id,), (part.id,), tuple(choices))


def _undecodable(
    context: Context,
    fault: RowFault,
    messages: tuple[str, ...],
    parts: tuple[str, ...],
    choices: tuple[Choice, ...],
) -> Finding:
    words = {"error": fault.words, "certainty": "measured"} if fault.words else {}
    return Finding(
        "undecodable-row",
        _severity(context, fault),
        choices[0].safety if choices else "manual",
        messages,
        parts,
        f"{fault.table} {fault.id}: {fault.reason}",
        {"table": fault.table, "row": fault.id, "path": fault.path, "reason": fault.reason, **words},
        choices,
        mark=fault.path,
    )


def _unknown(message: Message, part: Part) -> Finding:
    remove = Choice(
        "quarantine",
        "Take the part out; the restore point keeps its bytes",
        "lossy",
        (delete_part(part, f"unknown kind {part.kind}"),),
    )
    return Finding(
        "undecodable-row",
        "info",
        "manual",
        (message.id,),
        (part.id,),
        f"part {part.id} is of kind {part.kind!r}, which client 1.18 does not know and leaves out",
        {"table": "part", "row": part.id, "path": "type", "reason": f"unknown kind {part.kind}"},
        (remove,),
        mark="type",
    )


def find_corrupt(context: Context) -> Iterator[Finding]:
    """Rows whose JSON does not parse, and a revert column that does not."""
    for fault in context.session.faults:
        if fault.rule == "corrupt-json":
            yield _corrupt_column(fault) if fault.table == "session" else _corrupt(context, fault)


def _corrupt_column(fault: RowFault) -> Finding:
    operation = edit_session({fault.path: None}, "the column is not JSON")
    return Finding(
        "corrupt-json",
        "blocked" if fault.fatal else "at-risk",
        "lossy",
        (),
        (),
        f"The session's {fault.path} column is not JSON: {fault.reason}",
        {
            "table": "session",
            "row": fault.id,
            "path": fault.path,
            "reason": fault.reason,
            "error": fault.words,
            "certainty": "measured",
        },
        (Choice("clear", "Clear the column; the restore point keeps its bytes", "lossy", (operation,)),),
        mark=fault.path,
    )


def _corrupt(context: Context, fault: RowFault) -> Finding:
    part = context.parts_by_id.get(fault.id) if fault.table == "part" else None
    message = context.messages_by_id.get(part.message_id if part else fault.id)
    choices: tuple[Choice, ...] = ()
    manual = False
    why = "its JSON cannot be read"
    label = "Take the row out; the restore point keeps its bytes"
    if part is not None:
        choices = (Choice("quarantine", label, "lossy", (delete_part(part, why),)),)
    elif message is not None and fault.table == "message":
        manual = bool(message.parts)
        label += f", with its {len(message.parts)} parts" if manual else ""
        choices = (Choice("quarantine", label, "lossy", (delete_message(message, why),)),)
    return Finding(
        "corrupt-json",
        "blocked",
        "lossy" if choices and not manual else "manual",
        (message.id,) if message else (),
        (part.id,) if part else (),
        f"{fault.table} {fault.id} is not readable JSON: {fault.reason}",
        {
            "table": fault.table,
            "row": fault.id,
            "reason": fault.reason,
            "error": fault.words,
            "certainty": "measured",
        },
        choices,
        mark=fault.id,
    )


def find_orphans(context: Context) -> Iterator[Finding]:
    """Parts without a message, parts filed under another session, and a session whose project is not there."""
    session = context.session
    if session.orphans:
        why = "its message is not in the session"
        yield Finding(
            "orphan-row",
            "at-risk",
            "lossy",
            tuple(sorted({part.message_id for part in session.orphans})),
            tuple(part.id for part in session.orphans),
            f"{len(session.orphans)} parts belong to messages that are not stored",
            {"kinds": sorted({part.kind for part in session.orphans})},
            (
                Choice(
                    "delete",
                    "Remove them; the restore point keeps their bytes",
                    "lossy",
                    tuple(delete_part(part, why) for part in session.orphans),
                ),
            ),
            mark="parts",
        )
    for message in session.v1:
        strays = [
            part for part in message.parts if part.row and part.row.get("session_id") not in (None, message.session_id)
        ]
        if strays and message.session_id:
            yield _misfiled(message, strays)
    yield from _project(context)


def _misfiled(message: Message, strays: list[Part]) -> Finding:
    why = "a part belongs to the session of its message"
    columns = {"session_id": message.session_id}
    operations = tuple(Operation("replace", "part", message.id, part.id, columns=columns, why=why) for part in strays)
    return Finding(
        "orphan-row",
        "at-risk",
        "safe",
        (message.id,),
        tuple(part.id for part in strays),
        f"{len(strays)} parts of {message.id} are filed under another session",
        {"session": message.session_id},
        (Choice("refile", "File them under their message's session", "safe", operations),),
        mark="session_id",
    )


def _project(context: Context) -> Iterator[Finding]:
    projects = context.session.rows.projects
    wanted = context.session.rows.session.get("project_id")
    if not context.facts.complete or not projects or wanted is None or any(one.get("id") == wanted for one in projects):
        return
    home = next((one for one in projects if one.get("id") == "global"), None)
    operation = edit_session({"project_id": "global"}, f"project {wanted} is not in the store")
    yield Finding(
        "orphan-row",
        "blocked",
        "lossy" if home else "manual",
        (),
        (),
        f"The session's project {wanted} is not in the store, so its client cannot open it",
        {"project": wanted, "error": "UnknownError", "certainty": "measured"},
        (Choice("to-global", "File it under project global", "lossy", (operation,)),) if home else (),
        mark="project",
    )


def find_corrupt_store(context: Context) -> Iterator[Finding]:
    if context.facts.check:
        yield Finding(
            "sqlite-corrupt",
            "at-risk",
            "manual",
            (),
            (),
            "SQLite reports damage in the database file",
            {
                "check": list(context.facts.check),
                "hint": "Recover into a new file; the original is kept as it is.",
            },
        )


RULES = (
    Rule(
        "corrupt-json",
        "A row that is not readable",
        "blocked",
        "lossy",
        what="A row's JSON cannot be read: it is empty, cut off, or full of zero bytes.",
        rejected=(
            'The client itself: one such row makes the whole session unopenable, export included ("Unexpected server'
            ' error").'
        ),
        why="The disk was full, the write was torn, or another tool wrote it.",
        repair=(
            "The row is taken out; the restore point keeps its bytes and the rest of the session works again. Its"
            " content is never replaced by {} and never guessed. A message with parts is only taken out if you ask"
            " for it."
        ),
        order=10,
        find=find_corrupt,
    ),
    Rule(
        "undecodable-row",
        "A row that does not fit the client's schema",
        "at-risk",
        "lossy",
        what="A required field is missing or has another type, or a part is of a kind the client does not know.",
        rejected=(
            'The client: "Missing key at [0]["info"]["agent"]", "Expected ..., got ...", or "Session not found" on'
            " export."
        ),
        why="An older version or another tool wrote the row; the schema has moved on.",
        repair=(
            "The missing field is filled from the row, its neighbours or the schema's default, and row and path are"
            " named. What cannot be filled is taken out; the restore point keeps its bytes. An output is never made up:"
            " such a call ends as an error of unknown outcome."
        ),
        order=12,
        find=find_undecodable,
    ),
    Rule(
        "orphan-row",
        "A row that belongs nowhere",
        "at-risk",
        "lossy",
        what=(
            "Parts whose message is not stored, parts filed under another session, or a session whose project is not in"
            " the store."
        ),
        rejected=(
            'SQLite on later writes: "FOREIGN KEY constraint failed"; with an unknown project the client cannot open'
            " the session."
        ),
        why="Another tool deleted rows with foreign keys off, or a recovery lost some.",
        repair=(
            "Parts without a message are removed, misfiled parts get their message's session, an unknown project"
            " becomes global. No message is made up to hold parts."
        ),
        order=14,
        find=find_orphans,
    ),
    Rule(
        "sqlite-corrupt",
        "A damaged database file",
        "at-risk",
        "manual",
        what="SQLite's own check reports damage.",
        rejected='The client: "database disk image is malformed".',
        why="Two programs on a network share, a kill during a write, or a copy without its -wal file.",
        repair=(
            "By hand: recover into a new file, then run all rules; the original stays. Never delete -wal or -shm, never"
            " VACUUM in place."
        ),
        order=990,
        find=find_corrupt_store,
    ),
)
