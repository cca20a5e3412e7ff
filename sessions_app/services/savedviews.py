"""Saved views of the list."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.http import QueryDict

from sessions_app.models import SavedView
from sessions_app.selectors.filters import SessionFilter

NAME_LIMIT = 80
VIEWS_LIMIT = 50
"""Views one person may keep."""


class ViewRefused(Exception):
    """The view is not saved; the words say why."""


def view_save(
    *,
    owner: User,
    name: str,
    query: str,
    columns: Sequence[str],
    shared: bool,
    now: datetime,
) -> SavedView:
    """Save a filter under a name of its owner; the same name again replaces the view. Raises ``ViewRefused``."""
    name = _name(name)
    mine = SavedView.objects.filter(owner=owner)
    if mine.count() >= VIEWS_LIMIT and not mine.filter(name=name).exists():
        raise ViewRefused(f"You have {VIEWS_LIMIT} views already; delete one first.")
    wanted = SessionFilter.from_query(QueryDict(query)).to_query()
    view, _ = SavedView.objects.update_or_create(
        owner=owner,
        name=name,
        defaults={"query": wanted, "columns": list(columns), "shared": shared},
        create_defaults={"query": wanted, "columns": list(columns), "shared": shared, "created_at": now},
    )
    return view


def view_change(*, view: SavedView, name: str, shared: bool) -> None:
    """Rename a view, share it or stop sharing it. Raises ``ViewRefused``."""
    name = _name(name)
    if SavedView.objects.filter(owner=view.owner_id, name=name).exclude(pk=view.pk).exists():
        raise ViewRefused(f"You have another view named “{name}”.")
    view.name, view.shared = name, shared
    view.save(update_fields=("name", "shared"))


def view_delete(*, view: SavedView) -> None:
    view.delete()


def _name(name: str) -> str:
    name = " ".join(name.split())[:NAME_LIMIT]
    if not name:
        raise ViewRefused("A view needs a name.")
    return name
