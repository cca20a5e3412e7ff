"""Paste an error, land on the part at fault."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.http import Http404, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from sessions_app.domain.locate import TEXT_LIMIT, Location, answer
from sessions_app.domain.rules import REGISTRY
from sessions_app.models import Session
from sessions_app.ruletexts import rule_kind
from sessions_app.selectors.locating import only_session, places_among, places_within
from sessions_app.selectors.sessions import session_by_any_id
from sessions_app.services.pasting import KEPT, pasted_error, pasted_forget, pasted_keep
from sessions_app.web import present
from sessions_app.web.http import VIEW, HtmxRequest, allowed, clock

_CLASS = {
    "history": "The stored history",
    "setting": "A setting of the request",
    "not-history": "Not the history",
    "store": "The store’s file",
    "generic": "The provider says nothing",
}

HOW = {
    "violation": ": this session really breaks this rule there.",
    "recorded": ": the session stores these words as the error of this message.",
    "position": ": the position leads there.",
}

EVIDENCE = {"violation": "would raise it", "id": "holds its id", "recorded": "stores these words"}


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
    """The form. Its answer has an address that holds no word of the text, which may be long and private: the text is
    kept on the server for a while."""
    text = request.POST.get("error", "").replace("\x00", "")[:TEXT_LIMIT]
    asked = request.POST.get("session", request.GET.get("session", "")).strip()[:255]
    if text.strip():
        key = pasted_keep(text=text, asked=asked, now=clock())
        return HttpResponseRedirect(reverse("sessions_app:located", args=[key]), status=303)
    return render(request, "locate.html", {"section": "locate", "text": text, "asked": asked})


@require_http_methods(["GET", "POST"])
@allowed(VIEW)
def located(request: HtmxRequest, key: str) -> HttpResponseBase:
    """What was read in a pasted text; POST forgets the text."""
    pasted = pasted_error(key=key, now=clock())
    if pasted is None:
        raise Http404(
            f"This error text is not kept any more: {KEPT.days} days after it was pasted it goes. Paste it again."
        )
    if request.method == "POST":
        pasted_forget(key=key)
        return redirect("sessions_app:locate")
    session, problem = _session(pasted.asked)
    context = _answered(pasted.text, session) | {
        "section": "locate",
        "text": pasted.text,
        "asked": pasted.asked,
        "session": session,
        "problem": problem,
        "key": key,
        "kept": KEPT.days,
    }
    return render(request, "locate.html", context)


def _answered(text: str, session: Session | None) -> dict[str, Any]:
    said = answer(text)
    readings: tuple[Location, ...] = said.readings
    if session:
        resolved, places = places_within(text, session)
        readings = resolved or readings
    else:
        _, places = places_among(text, said)
    shown = [_reading(location) for location in readings]
    label = _CLASS[said.about] + (f": {said.kind}" if said.kind else "")
    return {
        "done": True,
        "said": said,
        "label": label,
        "readings": shown,
        "places": [asdict(place) | {"at": place.at, "how": EVIDENCE.get(place.by, "")} for place in places],
        "among": session is None and bool(shown or places),
    }


def _session(asked: str) -> tuple[Session | None, str]:
    """The session that was named, by its stored id, any id in it, or Suture's number; the only one needs no name."""
    if not asked:
        return only_session(), ""
    number = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 12 else None
    if number is None:
        places = session_by_any_id(asked)
        number = places[0].session if places else None
    found = Session.objects.filter(pk=number, imported_at__isnull=False).first() if number is not None else None
    return found, "" if found else f"No session that was read holds “{asked}”."


def _reading(location: Location) -> Reading:
    titles = tuple((code, rule_kind(code)) for code in location.faults if code in REGISTRY)
    return Reading(
        location,
        present.PROTOCOL.get(location.protocol, location.protocol),
        titles,
        location.part or location.message,
    )
