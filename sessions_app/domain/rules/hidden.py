"""Sessions that the client's list leaves out (rules 2.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sessions_app.domain.jsjson import loads
from sessions_app.domain.model import Row

from .base import Choice, Context, Finding, Rule
from .ops import edit_session

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


def _directory(context: Context) -> str:
    value = context.session.rows.session.get("directory")
    return value.rstrip("/") if isinstance(value, str) else ""


def _own(context: Context) -> Row | None:
    wanted = context.session.rows.session.get("project_id")
    return next((project for project in context.session.rows.projects if project.get("id") == wanted), None)


def find_project(context: Context) -> Iterator[Finding]:
    """Filed under another project than the one that holds its directory."""
    home = home_of(context)
    session = context.session.rows.session
    if home is None or session.get("project_id") in (None, home[0].get("id")):
        return
    project, worktree = home
    columns: dict[str, Any] = {"project_id": project.get("id")}
    if "path" in session:
        columns["path"] = relative(_directory(context), worktree)
    archived = {"also_hidden_by": "it is archived"} if session.get("time_archived") else {}
    yield Finding(
        "hidden-project",
        "at-risk",
        "lossy",
        (),
        (),
        f"The session is filed under project {session.get('project_id')}, but its directory belongs to"
        f" {project.get('id')} ({worktree})",
        {
            "project": session.get("project_id"),
            "should_be": project.get("id"),
            "directory": _directory(context),
            **archived,
        },
        (
            Choice(
                "relink",
                f"File it under {project.get('id')}, with its path",
                "lossy",
                (edit_session(columns, "the list filters by project"),),
            ),
        ),
    )


def find_directory(context: Context) -> Iterator[Finding]:
    """The directory is outside its project's worktree, or (for a file in its native place) does not exist."""
    own, directory, session = _own(context), _directory(context), context.session.rows.session
    if not directory or own is None or own.get("id") == GLOBAL or home_of(context) is not None:
        gone = context.facts.native and context.facts.directories.get(directory) is False
        if not gone:
            return
    places = worktrees(own) if own else []
    choices: tuple[Choice, ...] = ()
    if places and not any(inside(directory, place) for place in places):
        path = session.get("path")
        new = f"{places[0]}/{path}" if isinstance(path, str) and path else places[0]
        columns: dict[str, Any] = {"directory": new}
        if "path" in session:
            columns["path"] = relative(new, places[0])
        choices = (
            Choice(
                "relink",
                f"Set the directory to {new}, with its path",
                "lossy",
                (edit_session(columns, "the folder moved"),),
            ),
        )
    elif not (context.facts.native and context.facts.directories.get(directory) is False):
        return
    yield Finding(
        "hidden-directory",
        "at-risk",
        "lossy" if choices else "manual",
        (),
        (),
        (
            f"The session's directory {directory} is not in its project's worktree"
            if choices
            else f"The session's directory {directory} does not exist"
        ),
        {"directory": directory, "worktrees": places},
        choices,
    )


def find_path(context: Context) -> Iterator[Finding]:
    """``session.path`` does not say where the directory lies in the worktree."""
    session, own, directory = context.session.rows.session, _own(context), _directory(context)
    path = session.get("path")
    if own is None or not isinstance(path, str) or not path:
        return
    places = [place for place in worktrees(own) if inside(directory, place)]
    if not places or path in [relative(directory, place) for place in places]:
        return
    right = relative(directory, max(places, key=len))
    yield Finding(
        "hidden-path",
        "at-risk",
        "lossy",
        (),
        (),
        f"The session's path is {path!r}, but its directory lies at {right!r} in the worktree",
        {"path": path, "should_be": right},
        (
            Choice(
                "relink",
                f"Set the path to {right!r}",
                "lossy",
                (edit_session({"path": right}, "lists filter by path since 1.18"),),
            ),
        ),
    )


def find_archived(context: Context) -> Iterator[Finding]:
    since = context.session.rows.session.get("time_archived")
    if not since:
        return
    operation = edit_session({"time_archived": None}, "archived sessions are not listed")
    yield Finding(
        "hidden-archived",
        "at-risk",
        "safe",
        (),
        (),
        "The session is archived, so lists leave it out",
        {"time_archived": since},
        (Choice("unarchive", "Take it out of the archive", "safe", (operation,)),),
        offered=True,
    )


def find_generation(context: Context) -> Iterator[Finding]:
    """Rows in a table that the store's client no longer reads."""
    reads, session = context.facts.reads, context.session
    if reads == "opencode-v2" and session.v1 and not session.v2:
        summary = "The store is used by a 2.x client, which does not read these V1 rows"
        hint = "Export the session and import it with the 2.x client; nothing is changed here."
    elif reads == "opencode-v1" and session.v2 and not session.v1:
        summary = "The store is used by a 1.x client, which does not read these V2 rows"
        hint = "Open it with a 2.x client."
    elif not reads and session.version.startswith("2.") and session.v1 and not session.v2:
        summary = "The session belongs to a 2.x client, which does not read V1 rows"
        hint = "Export the session and import it with the 2.x client; nothing is changed here."
    elif context.facts.beside is not None and session.id not in context.facts.beside:
        summary = (
            "The session is only in the storage tree; its client reads the database beside it, and does not migrate the"
            " tree"
        )
        hint = "Bring it into the database (suture adopt), or export it and run opencode import."
    else:
        return
    yield Finding("hidden-generation", "at-risk", "manual", (), (), summary, {"reads": reads, "hint": hint})


_LIST = 'Nobody: the list is just shorter, and the API may say "Session not found".'
_TOGETHER = (
    "Project, directory and path are set together to what the client computes for the directory; messages are not"
    " touched."
)

RULES = (
    Rule(
        "hidden-project",
        "Filed under the wrong project",
        "at-risk",
        "lossy",
        what="The session's project is not the one whose worktree holds its directory.",
        rejected=_LIST,
        why="After git init, a removed .git, a linked worktree or /new the directory resolves to another project.",
        repair=_TOGETHER,
        order=500,
        find=find_project,
    ),
    Rule(
        "hidden-directory",
        "Its directory is gone or moved",
        "at-risk",
        "lossy",
        what="The session's directory, frozen when it was made, is not in its project's worktree or does not exist.",
        rejected=_LIST,
        why="The folder was renamed or moved; the project, known by its first commit, is still right.",
        repair=_TOGETHER,
        order=510,
        find=find_directory,
    ),
    Rule(
        "hidden-path",
        "Its path does not fit its directory",
        "at-risk",
        "lossy",
        what="The session's path (relative to the worktree) does not say where its directory lies.",
        rejected=_LIST,
        why="Since 1.18 lists filter by path; tools that move only the directory leave it behind.",
        repair=_TOGETHER,
        order=520,
        find=find_path,
    ),
    Rule(
        "hidden-archived",
        "Archived",
        "at-risk",
        "safe",
        what="The session is archived.",
        rejected=_LIST,
        why="Someone archived it; for long there was no way back in the client.",
        repair=(
            "time_archived is cleared. Only done if you ask for it: archiving may have been meant. Other filters may"
            " hide it as well."
        ),
        order=530,
        find=find_archived,
    ),
    Rule(
        "hidden-generation",
        "In rows the client no longer reads",
        "at-risk",
        "manual",
        what=(
            "The session is stored in the rows of another client generation than the one that uses this store, or in a"
            " storage tree only."
        ),
        rejected=_LIST,
        why=(
            "The 2.0 importer runs once; what came later, or failed then, stays in the old tables. Client 1.18 does not"
            " migrate a tree of 1.0 or 1.1."
        ),
        repair=(
            "A tree's sessions are brought into the database after a preview, with an undo. V1 rows in a 2.x store:"
            " export and import them with the client you use; a migration is never run again on a store with mixed"
            " rows."
        ),
        order=970,
        find=find_generation,
    ),
)
