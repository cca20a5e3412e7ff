"""A session as one line of the list: everything that its row says, made before it is rendered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.urls import reverse

from sessions_app.ruletexts import rule_kind
from sessions_app.selectors.sessions import SessionRow, TopFinding, top_findings

from . import present
from .addresses import address

FATE = {
    "safe": present.Look("mend", "Safe", "healthy"),
    "choice": present.Look("", "Choice", "unknown"),
    "none": present.Look("", "None", "unknown"),
}


@dataclass(frozen=True, slots=True)
class ListedRow:
    """``line`` is what is wrong, ``place`` where ("turn 2"), ``more`` how many faults there are besides; ``refused``
    the first protocol that refuses it, its own before others, ``refused_more`` how many else, ``refused_all`` all of
    them in words."""

    row: SessionRow
    look: present.Look
    url: str
    peek_url: str
    menu_url: str
    line: str
    place: str
    place_whole: str
    more: int
    fate: present.Look | None
    refused: str
    refused_more: int
    refused_all: str
    current: bool


def listed_rows(
    rows: Iterable[SessionRow], query: str, peek_at: Callable[[int], str], peeked: int | None
) -> list[ListedRow]:
    """``query`` is the list's, kept for the way back; ``peek_at`` gives the list's address with a session beside it."""
    rows = list(rows)
    back = {"list": query} if query else {}
    worst = top_findings([row.id for row in rows if row.blocked or row.at_risk])
    return [_listed(row, worst.get(row.id, ()), back, peek_at(row.id), row.id == peeked) for row in rows]


def _listed(
    row: SessionRow, worst: tuple[TopFinding, ...], back: dict[str, str], peek_url: str, current: bool
) -> ListedRow:
    own = str(row.target.get("protocol", ""))
    refusing = sorted(row.rejected_by, key=lambda protocol: protocol != own)
    top = worst[0] if worst else None
    return ListedRow(
        row=row,
        look=present.look("health", "stale" if row.stale else row.health),
        url=reverse("sessions_app:session", args=[row.id]) + address(back),
        peek_url=peek_url,
        menu_url=reverse("sessions_app:session-menu", args=[row.id]) + address(back),
        line=_line(row, top),
        place=turn_of(top.place) if top else "",
        place_whole=top.place if top else "",
        more=max(0, row.blocked + row.at_risk - 1),
        fate=FATE.get(row.fate),
        refused=present.PROVIDER.get(refusing[0], refusing[0]) if refusing else "",
        refused_more=max(0, len(refusing) - 1),
        refused_all=", ".join(present.PROTOCOL.get(protocol, protocol) for protocol in refusing),
        current=current,
    )


def _line(row: SessionRow, top: TopFinding | None) -> str:
    if top is not None:
        return top.line or rule_kind(top.rule)
    if row.health == "not-scanned":
        return "Not scanned yet"
    if row.health in ("unreadable", "at-risk", "blocked"):
        return next(iter(row.reasons), row.error)
    return "Repaired, nothing left" if row.repaired_at else ""


def turn_of(place: str) -> str:
    """The turn alone, where the line beside it names the rest."""
    _, found, turn = place.rpartition(", turn ")
    return f"turn {turn}" if found else ""
