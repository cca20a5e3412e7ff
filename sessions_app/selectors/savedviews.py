"""Views of the list: those that everybody has, one's own, and shared ones."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q
from django.http import QueryDict

from sessions_app.models import SavedView
from sessions_app.selectors.filters import SessionFilter

BUILT_IN: tuple[tuple[str, str, str], ...] = (
    ("repair", "Needs repair", "health=blocked&health=at-risk"),
    ("anthropic", "Refused by Anthropic", "rejected=anthropic-messages"),
    ("openai", "Refused by OpenAI", "rejected=openai-chat"),
    ("duplicates", "Duplicates", "has=duplicate"),
    ("week", "Repaired this week", "repaired=week&sort=-updated"),
    ("unscanned", "Not scanned", "health=not-scanned"),
)
"""(key, name, query) of the views that everybody has."""


@dataclass(frozen=True, slots=True)
class View:
    """``key`` is a built-in view's word or a saved view's number; ``owner`` is "" for a built-in one."""

    key: str
    name: str
    query: str
    owner: str = ""
    mine: bool = False
    shared: bool = False
    columns: tuple[str, ...] = ()

    @property
    def filter(self) -> SessionFilter:
        return SessionFilter.from_query(QueryDict(self.query))

    @property
    def unknown(self) -> tuple[str, ...]:
        """Conditions that this version does not know, or not with these values; they are left out."""
        return self.filter.ignored


def views_for(user_id: int | None) -> tuple[View, ...]:
    """The tabs above the list, in order: built in, own, shared by others."""
    saved = SavedView.objects.filter(Q(owner=user_id) | Q(shared=True)).select_related("owner")
    found = [
        View(
            str(view.pk), view.name, view.query, view.owner.get_username(), view.owner_id == user_id, view.shared,
            tuple(map(str, view.columns)),
        )
        for view in saved.order_by("name", "id")[:100]
    ]  # fmt: skip
    built_in = [View(*item) for item in BUILT_IN]
    return (
        *built_in,
        *(view for view in found if view.mine),
        *(view for view in found if not view.mine),
    )
