"""Sessions that the client's list leaves out (docs/contract/rules.md#2.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from sessions_app.domain.jsjson import loads
from sessions_app.domain.judging import verdict
from sessions_app.domain.model import V1, V2, Row, Session
from sessions_app.domain.wire.target import infer_target

from .context import Context
from .finding import Finding, lossy, safe
from .operations import edit_session
from .registration import rule

GLOBAL = "global"


def worktrees(project: Row) -> list[str]:
    """Where a project's files lie: its worktree and its sandboxes. The root directory holds everything and so says
    nothing."""
    found = [project.get("worktree")]
    sandboxes = project.get("sandboxes")
    if isinstance(sandboxes, str):
        try:
            sandboxes = loads(sandboxes)
        except ValueError:
            sandboxes = []
    found += sandboxes if isinstance(sandboxes, list) else []
    return [path.rstrip("/") for path in found if isinstance(path, str) and path.rstrip("/")]


def inside(directory: str, worktree: str) -> bool:
    """The directory is the worktree or lies in it."""
    return directory == worktree or directory.startswith(worktree + "/")


def relative(directory: str, worktree: str) -> str:
    """``session.path``: relative to the worktree, without a leading slash."""
    return directory[len(worktree) :].lstrip("/")


def home_of(context: Context) -> tuple[Row, str] | None:
    """The project whose worktree holds the session's directory most closely, and that worktree."""
    return project_at(_directory(context), context.session.rows.projects)


def project_at(directory: str, projects: Iterable[Row]) -> tuple[Row, str] | None:
    """The project that the client computes for a directory, and its worktree; None where it is ``global``.

    Of two projects with one worktree, as after a new ``git init``, the one last used is the client's.
    """
    best: tuple[int, float, Row, str] | None = None
    for project in projects:
        if project.get("id") == GLOBAL:
            continue
        used = project.get("time_updated")
        since = float(used) if isinstance(used, (int, float)) else 0.0
        for worktree in worktrees(project):
            if inside(directory, worktree) and (best is None or (len(worktree), since) > best[:2]):
                best = (len(worktree), since, project, worktree)
    return None if best is None else best[2:]


def moved_to(row: Row, projects: Iterable[Row]) -> str:
    """Where a session's directory is now that the folder of its project was moved: at its path in the project's
    worktree. "" where a worktree holds it, or its project has none."""
    projects, directory, path = list(projects), row.get("directory"), row.get("path")
    own = next((project for project in projects if project.get("id") == row.get("project_id")), None)
    if own is None or own.get("id") == GLOBAL or not isinstance(directory, str) or project_at(directory, projects):
        return ""
    place = next(iter(worktrees(own)), "")
    return _at_path(place, path) if place else ""


def _at_path(worktree: str, path: object) -> str:
    return f"{worktree}/{path}" if isinstance(path, str) and path else worktree


def _directory(context: Context) -> str:
    value = context.row.get("directory")
    return value.rstrip("/") if isinstance(value, str) else ""


def _own(context: Context) -> Row | None:
    wanted = context.row.get("project_id")
    return next((project for project in context.session.rows.projects if project.get("id") == wanted), None)


def _with_path(context: Context, columns: dict[str, Any], directory: str, worktree: str) -> dict[str, Any]:
    """``columns`` with the path that fits them, where this client's sessions have one."""
    return {**columns, "path": relative(directory, worktree)} if "path" in context.row else columns


@rule("hidden-project", severity="at-risk", safety="lossy")
def find_project(context: Context) -> Iterator[Finding]:
    """Filed under another project than the one that holds its directory."""
    home, directory, filed = home_of(context), _directory(context), context.row.get("project_id")
    if home is None or filed in (None, home[0].get("id")):
        return
    project, worktree = home[0].get("id"), home[1]
    columns = _with_path(context, {"project_id": project}, directory, worktree)
    archived = {"also_hidden_by": "it is archived"} if context.row.get("time_archived") else {}
    yield context.finding(
        f"The session is filed under project {filed}, but its directory belongs to {project} ({worktree})",
        lossy(
            "relink", f"File it under {project}, with its path", edit_session(columns, "the list filters by project")
        ),
        details={"project": filed, "should_be": project, "directory": directory, **archived},
    )


@rule("hidden-directory", severity="at-risk", safety="lossy")
def find_directory(context: Context) -> Iterator[Finding]:
    """The directory is outside its project's worktree, or (for a file in its native place) does not exist."""
    own, directory = _own(context), _directory(context)
    gone = context.facts.native and context.facts.directories.get(directory) is False
    away = bool(directory) and own is not None and own.get("id") != GLOBAL and home_of(context) is None
    if not (away or gone):
        return
    places = worktrees(own) if own else []
    details = {"directory": directory, "worktrees": places}
    if places and not any(inside(directory, place) for place in places):
        new = _at_path(places[0], context.row.get("path"))
        columns = _with_path(context, {"directory": new}, new, places[0])
        yield context.finding(
            f"The session's directory {directory} is not in its project's worktree",
            lossy("relink", f"Set the directory to {new}, with its path", edit_session(columns, "the folder moved")),
            details=details,
        )
    elif gone:
        words = f"The session's directory {directory} does not exist"
        yield context.finding(words, details=details, severity="info")  # where it went is not known


@rule("hidden-path", severity="at-risk", safety="lossy")
def find_path(context: Context) -> Iterator[Finding]:
    """``session.path`` does not say where the directory lies in the worktree; none at all says nothing."""
    own, directory = _own(context), _directory(context)
    if own is None or "path" not in context.row:
        return
    path = context.row["path"] or ""
    if not path and (context.v2 or own.get("id") != GLOBAL):
        return  # the V2 line lists by project and directory; a project's worktree lists all of its sessions
    places = [place for place in _roots(context, own) if inside(directory, place)]
    if not isinstance(path, str) or not places or path in [relative(directory, place) for place in places]:
        return
    right = relative(directory, max(places, key=len))
    says = f"path is {path!r}" if path else "path is empty"
    yield context.finding(
        f"The session's {says}, but its directory lies at {right!r} in the worktree",
        lossy("relink", f"Set the path to {right!r}", edit_session({"path": right}, "lists filter by path since 1.18")),
        details={"path": context.row["path"], "should_be": right},
    )


def _roots(context: Context, own: Row) -> list[str]:
    """What the path of the session is relative to: the worktrees of its project, or the root directory."""
    if own.get("id") == GLOBAL and home_of(context) is None:
        return worktrees(own) or [""]
    return [] if own.get("id") == GLOBAL else worktrees(own)


@rule("hidden-archived", severity="at-risk", safety="safe")
def find_archived(context: Context) -> Iterator[Finding]:
    """An archived session: taking it out is only offered, since archiving may have been meant."""
    since = context.row.get("time_archived")
    if since:
        out = edit_session({"time_archived": None}, "archived sessions are not listed")
        yield context.finding(
            "The session is archived, so lists leave it out",
            safe("unarchive", "Take it out of the archive", out),
            details={"time_archived": since},
            offered=True,
        )


@rule("hidden-generation", severity="at-risk", safety="manual")
def find_generation(context: Context) -> Iterator[Finding]:
    """Rows in a table that the store's client no longer reads."""
    reads, session = context.facts.reads, context.session
    v1, v2 = bool(session.history(V1)), bool(session.history(V2))
    only_v1, only_v2 = v1 and not v2, v2 and not v1
    hint = "Export the session and import it with the 2.x client; nothing is changed here."
    if reads == "opencode-v2" and only_v1:
        summary = "The store is used by a 2.x client, which does not read these V1 rows"
    elif reads == "opencode-v1" and only_v2:
        summary = "The store is used by a 1.x client, which does not read these V2 rows"
        hint = "Open it with a 2.x client."
    elif not reads and session.version.startswith("2.") and only_v1:
        summary = "The session belongs to a 2.x client, which does not read V1 rows"
    elif context.facts.beside is not None and session.id not in context.facts.beside:
        summary = (
            "The session is only in the storage tree; its client reads the database beside it, and does not migrate the"
            " tree"
        )
        hint = "Bring it into the database (suture adopt), or export it and run opencode import."
    else:
        return
    yield context.finding(summary, details={"reads": reads, "hint": hint})


@rule("two-histories", severity="at-risk", safety="manual")
def find_two_histories(context: Context) -> Iterator[Finding]:
    """Messages of both clients: each sends its own only, so the model lacks what was said with the other."""
    session = context.session
    if not (session.history(V1) and session.history(V2)) or _taken_over(session):
        return
    told = {name: _told(context, replace(session, dialect=name)) for name in (V1, V2)}
    other = V1 if session.dialect == V2 else V2
    refused = told[other].get("error")
    yield context.finding(
        f"The session holds {told[V1]['messages']} messages of the old client (1.x) and {told[V2]['messages']} of the"
        " new one (2.x); each client sends only its own"
        + (f". Those of the other one would be refused: {refused}" if refused else ""),
        details={
            "histories": told,
            "shown": session.dialect,
            "hint": "The newer messages are judged here; name the other history to look at it, send it or repair it.",
        },
    )


def _taken_over(session: Session) -> bool:
    """The newer history holds the older one: 2.x imported it (docs/contract/formats.md#c3)."""
    new, old = session.history(V2), session.history(V1)
    known: set[object] = {one.id for one in new} | {one.time_created for one in new}
    return 2 * sum(one.id in known or one.time_created in known for one in old) >= len(old)


def _told(context: Context, session: Session) -> dict[str, Any]:
    """How many messages a history has, when it was last used, and what its own target says to it."""
    messages = session.messages
    told: dict[str, Any] = {"messages": len(messages), "newest": max(one.time_created for one in messages)}
    if session.dialect == context.session.dialect:
        judged = context.verdict
    else:
        target = infer_target(session)
        judged = verdict(session, target) if target else None
    if judged is None:
        return told
    words = judged.refusal or (judged.violations[0].error if judged.violations else "")
    return {**told, "accepted": judged.accepted, **({"error": words} if words else {})}
