"""Two parts that share a call id, side by side."""

from __future__ import annotations

from django.http import Http404, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET

from sessions_app.models import Part, Session
from sessions_app.selectors.timeline import part_value, session_outline
from sessions_app.web.diff import side_by_side
from sessions_app.web.http import VIEW, HtmxRequest, allowed, load_session
from sessions_app.web.shell import session_shell


@require_GET
@allowed(VIEW)
def compare(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    session = load_session(session_id)
    ids = [request.GET.get(name, "")[:255] for name in ("part", "other")]
    places = {stored: place for fault in session_outline(session).faults for stored, place in fault.names.items()}
    first, second = ((places.get(stored, "A part"), _value(session, stored)) for stored in ids)
    diff = side_by_side(f"{first[0]} and {second[0]}", first, second)
    context = session_shell(request, session_id, "session") | {"diff": diff, "at": ids[0]}
    return render(request, "sessions/compare.html", context)


def _value(session: Session, stored_id: str) -> object:
    """What the part holds: its JSON, else its text."""
    part = Part.objects.select_related("message").filter(session=session, stored_id=stored_id).first()
    if part is None:
        raise Http404("This part is not stored any more. Load the session again.")
    value, text, _ = part_value(part)
    return text if value is None else value
