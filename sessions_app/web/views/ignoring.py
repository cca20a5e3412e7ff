"""Ignoring a finding, and taking that back."""

from __future__ import annotations

import datetime as dt

from django.contrib import messages
from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from sessions_app.services.ignoring import IgnoreRefused, finding_ignore, finding_mind
from sessions_app.web.http import (
    FACE,
    REPAIR,
    HtmxRequest,
    actor,
    allowed,
    back_to,
    clock,
    load_session,
    told_at,
    wanted_next,
)
from sessions_app.web.outcome import IGNORED


@require_POST
@allowed(REPAIR)
def ignore(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    session = load_session(session_id)
    try:
        until = request.POST.get("until", "").strip()
        finding_ignore(
            session=session, key=request.POST.get("finding", "")[:255], reason=request.POST.get("reason", ""),
            until=dt.date.fromisoformat(until) if until else None, actor=actor(request), now=clock(), face=FACE,
        )  # fmt: skip
    except (IgnoreRefused, ValueError) as refusal:
        words = str(refusal) if isinstance(refusal, IgnoreRefused) else "The day is no date."
        messages.warning(request, words, extra_tags="risk")
    else:
        here = reverse("sessions_app:session", args=[session_id])
        if wanted_next(request).partition("?")[0] == here:  # a page that tells the outcome in its bar
            return redirect(told_at(request, here, IGNORED + request.POST.get("finding", "")[:255]))
        messages.success(request, "Ignored. Health and verdicts stay as they are.")
    return back_to(request, "sessions_app:session", session_id)


@require_POST
@allowed(REPAIR)
def mind(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    key = request.POST.get("finding", "")[:255]
    finding_mind(session=load_session(session_id), key=key, actor=actor(request), now=clock(), face=FACE)
    messages.success(request, "No longer ignored.")
    return back_to(request, "sessions_app:session", session_id)
