"""The frame around every page of one session: header, sentence, tabs, neighbours in the list it was opened from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, QueryDict
from django.urls import reverse
from django.utils.http import urlencode

from sessions_app.domain.judging import OPENS_WITH
from sessions_app.models import Finding
from sessions_app.selectors.filters import SessionFilter
from sessions_app.selectors.outline import ignored_findings
from sessions_app.selectors.sessions import SessionDetail, neighbours, session_detail

from . import present
from .addresses import address
from .http import REPAIR, listed_in


@dataclass(frozen=True, slots=True)
class Tab:
    name: str
    word: str
    url: str
    count: int | None
    current: bool


def session_shell(request: HttpRequest, session_id: int, tab: str) -> dict[str, Any]:
    """Context of the session pages' common frame; 404 where the session is gone."""
    detail = session_detail(session_id)
    if detail is None:
        raise Http404("There is no such session here. Its store may have been deleted.")
    listed = listed_in(request)
    keep = urlencode({"list": listed}) if listed else ""
    row = detail.row
    return {
        "section": "sessions",
        "detail": detail,
        "session": row,
        "tabs": _tabs(detail, tab, keep),
        "tab": tab,
        "keep": keep,
        "list_query": listed,
        "beside": _beside(request, session_id, listed),
        "apply_all": _apply_all(detail, tab) if request.user.has_perm(REPAIR) else "",
        "session_sentence": _sentence(detail),
        "comes_first": OPENS_WITH.get(detail.opens_with, ""),
        "ignored_count": _ignored(session_id),
        "look": present.HEALTH.get(row.health, present.UNKNOWN),
        "outcome": None,
    }


@dataclass(frozen=True, slots=True)
class Beside:
    """The list that the session was opened from, where in it ("4 of 33", "" = nowhere), and its neighbours there."""

    list: str
    place: str = ""
    previous: str = ""
    next: str = ""


def _beside(request: HttpRequest, session_id: int, listed: str) -> Beside:
    back = reverse("sessions_app:sessions") + (f"?{listed}" if listed else "")
    found = None
    if "list" in request.GET:
        found = neighbours(SessionFilter.from_query(QueryDict(listed)), session_id)
    if found is None:
        return Beside(back)

    def url(neighbour: int | None) -> str:
        return reverse("sessions_app:session", args=[neighbour]) + address({"list": listed}) if neighbour else ""

    return Beside(back, f"{found.number:,} of {found.total:,}", url(found.before), url(found.after))


def _apply_all(detail: SessionDetail, tab: str) -> str:
    """The words of the button that repairs all that is safe; "" where it is not worth one: the card offers a single
    repair itself."""
    if detail.safe_count > 1:
        return f"Apply all {detail.safe_count:,} safe repairs"
    return "Apply 1 safe repair" if detail.safe_count and tab != "session" else ""


def _ignored(session_id: int) -> int:
    """Findings of today's scan that somebody chose to ignore."""
    keys = ignored_findings(session_id)
    return Finding.objects.filter(session=session_id, key__in=keys).count() if keys else 0


def _tabs(detail: SessionDetail, current: str, keep: str) -> list[Tab]:
    row = detail.row
    known = (
        ("session", "Timeline", None),
        ("findings", "Findings", row.findings),
        ("payload", "Payload", None),
        ("provider", "Provider", None),
        ("session-repairs", "Repairs", detail.repair_count),
        ("raw", "Raw", None),
        ("handback", "Hand back", None),
        ("details", "Details", None),
    )
    tail = f"?{keep}" if keep else ""
    return [
        Tab(name, word, reverse(f"sessions_app:{name}", args=[row.id]) + tail, count, name == current)
        for name, word, count in known
    ]


def _sentence(detail: SessionDetail) -> str:
    """The header's one sentence: what the next call will meet."""
    row = detail.row
    if row.error and row.health == "unreadable":
        return row.error
    if row.health == "not-scanned":
        return "Not scanned yet, so nothing is known about it."
    faults = row.blocked + row.at_risk
    return " ".join(part for part in (_verdict_words(detail), _can_be_done(detail, faults) if faults else "") if part)


def _can_be_done(detail: SessionDetail, faults: int) -> str:
    safe = detail.safe_count
    if safe >= faults:
        which = {1: "The fault", 2: "Both faults"}.get(faults, f"All {faults:,} faults")
        return f"{which} can be repaired safely."
    if detail.row.blocked and not detail.safe_blocking:
        also = f", {safe:,} other{'s' if safe > 1 else ''} can be repaired safely" if safe else ""
        return f"What blocks it needs your choice{also}."
    return f"{safe:,} of {faults:,} faults can be repaired safely." if safe else "What is wrong needs your choice."


def _verdict_words(detail: SessionDetail) -> str:
    """What the own provider does; where it said no to the last call, that, and not what is computed for the next."""
    own = detail.own_verdict
    if detail.last_call is not None and (own is None or own.accepted):
        return f"{detail.last_call.summary}."
    if own is None:
        return "It names no model, so no provider can be asked about it."
    name = present.PROTOCOL.get(own.protocol, own.protocol)
    return f"{name} {'accepts' if own.accepted else 'refuses'} the next message."
