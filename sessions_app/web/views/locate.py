"""Paste an error, land on the part at fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from sessions_app.domain import dialects
from sessions_app.domain.locate import TEXT_LIMIT, Location, locate
from sessions_app.domain.rules import REGISTRY
from sessions_app.models import Session
from sessions_app.ruletexts import rule_title
from sessions_app.selectors.locating import Raiser, sessions_raising
from sessions_app.selectors.rows import session_rows
from sessions_app.selectors.sessions import session_by_any_id
from sessions_app.web import present
from sessions_app.web.http import VIEW, HtmxRequest, allowed

HOW = {
    "violation": ": this session really breaks this rule there.",
    "position": ": the position leads there.",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of the text, with the titles of the rules it can come from."""

    location: Location
    protocol: str
    titles: tuple[tuple[str, str], ...]
    place: str

    @property
    def how(self) -> str:
        """Ends the sentence that names the place."""
        return HOW.get(self.location.by, ": its id is in the text.")


@require_http_methods(["GET", "POST"])
@allowed(VIEW)
def locate_error(request: HtmxRequest) -> HttpResponseBase:
    """POST, because an error text may be long and may hold what nobody wants in a log. Nothing is changed."""
    text = request.POST.get("error", "").replace("\x00", "")[:TEXT_LIMIT]
    asked = request.POST.get("session", request.GET.get("session", "")).strip()[:255]
    session, problem = _session(asked)
    context: dict[str, Any] = {
        "section": "locate",
        "text": text,
        "asked": asked,
        "session": session,
        "problem": problem,
    }
    if text.strip():
        decoded = dialects.decode(session_rows(session)) if session else None
        readings = [_reading(location) for location in locate(text, decoded)]
        raisers: tuple[Raiser, ...] = () if session else sessions_raising([reading.location for reading in readings])
        context |= {"readings": readings, "raisers": raisers, "done": True}
    return render(request, "locate.html", context)


def _session(asked: str) -> tuple[Session | None, str]:
    """The session that was named, by its stored id, any id in it, or Suture's number."""
    if not asked:
        return None, ""
    number = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 12 else None
    if number is None:
        places = session_by_any_id(asked)
        number = places[0].session if places else None
    found = Session.objects.filter(pk=number, imported_at__isnull=False).first() if number is not None else None
    return found, "" if found else f"No session that was read holds “{asked}”."


def _reading(location: Location) -> Reading:
    titles = tuple((code, rule_title(code)) for code in location.faults if code in REGISTRY)
    return Reading(
        location,
        present.PROTOCOL.get(location.protocol, location.protocol),
        titles,
        location.part or location.message,
    )
