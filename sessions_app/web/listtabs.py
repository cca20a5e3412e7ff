"""The tabs above the list. A tab is active when its filter is the one shown, however it came to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sessions_app.selectors.filters import SessionFilter
from sessions_app.selectors.savedviews import View


@dataclass(frozen=True, slots=True)
class ListTab:
    view: View
    url: str
    active: bool
    edited: bool
    """It was opened, and other conditions are shown by now."""


@dataclass(frozen=True, slots=True)
class ListTabs:
    """``view`` is the one that is shown or was opened; ``tail`` keeps an opened one in the links of the page, "" where
    none was."""

    tabs: tuple[ListTab, ...]
    view: View | None
    edited: bool
    tail: str

    @property
    def reset(self) -> str:
        """The opened view as it was saved."""
        return f"?{_query(self.view)}" if self.view else ""

    @property
    def change(self) -> str:
        return f"Change “{self.view.name}”" if self.view else ""


def list_tabs(wanted: SessionFilter, views: Sequence[View], opened: str) -> ListTabs:
    shown = wanted.to_query()
    same = [view for view in views if view.filter.to_query() == shown]
    active = next((view for view in same if view.key == opened), same[0] if same else None)
    base = active or next((view for view in views if view.key == opened), None)
    edited = base is not None and active is None
    tabs = tuple(ListTab(view, f"?{_query(view)}", view is active, view is base and edited) for view in views)
    kept = base is not None and base.key == opened
    return ListTabs(tabs, base, edited, f"&view={opened}" if kept else "")


def _query(view: View) -> str:
    return f"{view.query}{'&' if view.query else ''}view={view.key}"
