"""Load and authorise in one step: what is not there is a 404, what may not be done a 403."""

from __future__ import annotations

from typing import Any

from django.db.models import Model
from django.http import Http404, HttpRequest

from sessions_app.models import Session

from .auth import REPAIR, VIEW, require


def found[M: Model](model: type[M], **key: Any) -> M:
    """The one row, or a 404 that names what was asked for."""
    row = model._default_manager.filter(**key).first()
    if row is None:
        words = ", ".join(f"{name} {value}" for name, value in key.items())
        raise Http404(f"There is no {model._meta.verbose_name} with {words.replace('pk', 'number')}.")
    return row


def session_for_reading(request: HttpRequest, sid: int) -> Session:
    require(request, VIEW)
    return found(Session, pk=sid)


def session_for_repair(request: HttpRequest, sid: int) -> Session:
    require(request, REPAIR)
    return found(Session, pk=sid)
