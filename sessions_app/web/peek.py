"""A session beside the list: what is wrong with it, who refuses it, what can be done, without leaving the place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.urls import reverse

from sessions_app.models import Verdict
from sessions_app.ruletexts import rule_kind
from sessions_app.selectors.sessions import SessionDetail, SessionRow, TopFinding, session_detail, top_findings

from . import present
from .addresses import address
from .findingcards import ACCEPTS, REFUSES

FAULTS = 8


@dataclass(frozen=True, slots=True)
class PeekFault:
    look: present.Look
    line: str
    place: str
    url: str
    error: str
    fate: present.Look


@dataclass(frozen=True, slots=True)
class PeekAnswer:
    look: present.Look
    name: str
    own: bool


@dataclass(frozen=True, slots=True)
class Peek:
    """``number`` of ``total`` in the page of the list, with the addresses of those beside it ("" = none)."""

    row: SessionRow
    look: present.Look
    number: int
    total: int
    previous: str
    next: str
    url: str
    repair_url: str
    answers: tuple[PeekAnswer, ...]
    faults: tuple[PeekFault, ...]
    more: int
    safe: int
    here: str
    """The list's address with this session beside it."""


def peek(session_id: int, ids: Sequence[int], query: str, peek_at: Callable[[int], str]) -> Peek | None:
    """None where the session is gone; one that the page does not hold is shown without its neighbours."""
    detail = session_detail(session_id)
    if detail is None:
        return None
    row, back = detail.row, {"list": query} if query else {}
    url = reverse("sessions_app:session", args=[row.id])
    at = ids.index(session_id) if session_id in ids else -1
    found = [fault for fault in top_findings([row.id], FAULTS).get(row.id, ()) if fault.severity != "info"]
    return Peek(
        row=row,
        look=present.look("health", "stale" if row.stale else row.health),
        number=at + 1,
        total=len(ids),
        previous=peek_at(ids[at - 1]) if at > 0 else "",
        next=peek_at(ids[at + 1]) if 0 <= at < len(ids) - 1 else "",
        url=url + address(back),
        repair_url=url + address(back),
        answers=tuple(_answer(verdict) for verdict in detail.verdicts),
        faults=tuple(_fault(fault, url, back) for fault in found),
        more=max(0, row.blocked + row.at_risk - len(found)),
        safe=_safe(detail),
        here=reverse("sessions_app:sessions") + peek_at(row.id),
    )


def _safe(detail: SessionDetail) -> int:
    """Safe repairs that are worth offering first: what blocks is among them, or nothing blocks."""
    return detail.safe_count if detail.row.fate == "safe" else 0


def _answer(verdict: Verdict) -> PeekAnswer:
    name = present.PROVIDER.get(verdict.protocol, verdict.protocol)
    return PeekAnswer(ACCEPTS if verdict.accepted else REFUSES, name, verdict.own)


def _fault(found: TopFinding, url: str, back: dict[str, str]) -> PeekFault:
    return PeekFault(
        present.look("severity", found.severity),
        found.line or rule_kind(found.rule),
        found.place,
        url + address(back | {"at": found.at}, found.at) if found.at else url + address(back),
        found.error,
        present.look("safety", found.safety),
    )
