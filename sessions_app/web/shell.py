"""The frame around every page of one session: header, sentence, tabs, neighbours in the list it was opened from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, QueryDict
from django.urls import reverse
from django.utils.http import urlencode

from sessions_app.domain.judging import OPENS_WITH
from sessions_app.models import Finding, Verdict
from sessions_app.selectors.filters import SessionFilter
from sessions_app.selectors.outline import ignored_findings
from sessions_app.selectors.sessions import SessionDetail, neighbours, session_detail

from . import present
from .addresses import address


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
    listed = request.GET.get("list", "")[:2000]
    before = after = None
    if "list" in request.GET:
        before, after = neighbours(SessionFilter.from_query(QueryDict(listed)), session_id)
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
        "beside": {
            "list": reverse("sessions_app:sessions") + (f"?{listed}" if listed else ""),
            "previous": _beside(before, listed),
            "next": _beside(after, listed),
        },
        "session_sentence": _sentence(detail),
        "comes_first": OPENS_WITH.get(detail.opens_with, ""),
        "ignored_count": _ignored(session_id),
        "look": present.HEALTH.get(row.health, present.UNKNOWN),
    }


def _beside(session_id: int | None, listed: str) -> str:
    """The neighbour's address, "" where there is none."""
    return reverse("sessions_app:session", args=[session_id]) + address({"list": listed}) if session_id else ""


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
        ("more", "More", None),
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
    sentences = _verdict_words(detail)
    if detail.safe_count and row.blocked + row.at_risk:
        left = row.blocked + row.at_risk - detail.safe_count
        which = "All of it" if left <= 0 else f"{detail.safe_count} of {row.blocked + row.at_risk} findings"
        sentences.append(f"{which} can be repaired without losing anything.")
    if row.blocked and not detail.safe_blocking:
        sentences.append("What blocks it needs a choice of yours.")
    return " ".join(sentence for sentence in sentences if sentence)


def _verdict_words(detail: SessionDetail) -> list[str]:
    """What the own provider does; where it said no to the last call, that, and not what is computed for the next."""
    own = detail.own_verdict
    if detail.last_call is not None and (own is None or own.accepted):
        return [f"{detail.last_call.summary}."]
    if own is None:
        return [_others(detail.verdicts)]
    name = present.PROTOCOL.get(own.protocol, own.protocol)
    return [f"{name} {'accepts' if own.accepted else 'refuses'} the next message.", _others(detail.verdicts)]


def _others(verdicts: tuple[Verdict, ...]) -> str:
    if len(verdicts) < 2:
        return ""
    refusing = [
        present.PROTOCOL.get(verdict.protocol, verdict.protocol)
        for verdict in verdicts
        if not (verdict.accepted or verdict.own)
    ]
    if not refusing:
        return "The other protocols accept it."
    names = refusing[0] if len(refusing) == 1 else f"{', '.join(refusing[:-1])} and {refusing[-1]}"
    refused = any(verdict.own and not verdict.accepted for verdict in verdicts)
    return f"{names} would refuse it{' too' if refused else ''}."
