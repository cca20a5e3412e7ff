"""Load and authorise in one step: what is not there, or beyond the token's sources, is a 404, what may not be done a
403."""

from __future__ import annotations

from typing import Any

from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest
from django.utils import timezone

from sessions_app.models import Session, Source
from sessions_app.services.reading import session_refresh

from .auth import REPAIR, VIEW, require, token_of

_NAMES = {"pk": "number", "public_id": "id"}


def found[M: Model](model: type[M] | QuerySet[M], **key: Any) -> M:
    """The one row, or a 404 that names what was asked for."""
    rows = model if isinstance(model, QuerySet) else model._default_manager.all()
    row = rows.filter(**key).first()
    if row is None:
        words = ", ".join(f"{_NAMES.get(name, name)} {value}" for name, value in key.items())
        raise Http404(f"There is no {rows.model._meta.verbose_name} with {words}.")
    return row


def within[M: Model](request: HttpRequest, rows: QuerySet[M], source: str = "source") -> QuerySet[M]:
    """The rows of sources that the caller reaches; ``source`` is the path from a row to its source."""
    token = token_of(request)
    return rows if token is None or token.all_sources else rows.filter(**{f"{source}__in": token.sources.all()})


def sources(request: HttpRequest) -> QuerySet[Source]:
    """The sources that the caller reaches."""
    return within(request, Source.objects.all(), "pk")


def sessions(request: HttpRequest) -> QuerySet[Session]:
    """The sessions of these sources."""
    return within(request, Session.objects.select_related("source"))


def session_for_reading(request: HttpRequest, sid: int) -> Session:
    """The session, brought up to date where its source is live or it was not read yet."""
    require(request, VIEW)
    session = found(sessions(request), pk=sid)
    session_refresh(session=session, now=timezone.now())
    return session


def session_for_repair(request: HttpRequest, sid: int) -> Session:
    """The session; a repair reads its rows itself."""
    require(request, REPAIR)
    return found(sessions(request), pk=sid)
