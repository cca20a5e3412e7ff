"""What is made of a session's rows and findings and kept for the next request (``sessions_app.kept``)."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from sessions_app.kept import Kept
from sessions_app.models import Session

type SessionKey = tuple[Hashable, ...]


def session_key(session: Session) -> SessionKey:
    """Tells a session's rows and what was found in them from every other state, before and after a write."""
    return session.pk, session.rows_hash, session.scanned_at, session.rules_version


def kept_of[V](kept: Kept[SessionKey, V], session: Session, options: Hashable, make: Callable[[], V]) -> V:
    """What ``make`` gives for a session, of its mirror; ``options`` is all else that it depends on.

    It is not kept where nothing tells the rows (before the first scan), nor where somebody wrote them meanwhile.
    """
    key = (*session_key(session), options)
    found = kept.get(key)
    if found is not None:
        return found
    made = make()
    if session.rows_hash and session.scanned_at is not None and _still(session):
        kept.put(key, made)
    return made


def _still(session: Session) -> bool:
    now = Session.objects.filter(pk=session.pk).only("rows_hash", "scanned_at", "rules_version").first()
    return now is not None and session_key(now) == session_key(session)
