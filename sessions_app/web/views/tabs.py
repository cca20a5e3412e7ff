"""The session's other tabs: findings, repairs, and what is done rarely."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from sessions_app.domain.wish import Wish, WishError
from sessions_app.models import Session
from sessions_app.selectors.history import session_repairs
from sessions_app.selectors.timeline import session_outline
from sessions_app.services.handback.handing import WORDS, WRITTEN_BACK, Form, Handback, forms_of, handback
from sessions_app.web.findingcards import answers, finding_cards
from sessions_app.web.http import REPAIR, VIEW, HtmxRequest, allowed, clock, load_session, page_number
from sessions_app.web.pager import numbered_pager
from sessions_app.web.shell import session_shell
from sessions_app.web.views.repairing import wish_asked

_GRAVEST = ("blocked", "at-risk", "info")


@require_GET
@allowed(VIEW)
def findings(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    shell = session_shell(request, session_id, "findings")
    outline = session_outline(load_session(session_id))
    detail = shell["detail"]
    verdicts = detail.verdicts
    gravest = sorted(outline.faults, key=lambda fault: _GRAVEST.index(fault.severity))
    cards = finding_cards(gravest[:200], verdicts, outline.faults)
    return render(
        request,
        "sessions/findings.html",
        shell
        | {
            "cards": cards,
            "total": len(outline.faults),
            "verdicts": answers(verdicts, reverse("sessions_app:payload", args=[session_id]), detail.last_call),
        },
    )


@require_GET
@allowed(VIEW)
def repairs(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    shell = session_shell(request, session_id, "session-repairs")
    page = session_repairs(session_id, page_number(request.GET))
    return render(request, "sessions/repairs.html", shell | {"page": page, "pager": numbered_pager(page)})


@require_GET
@allowed(VIEW)
def more(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    """Facts, relink, and the forms in which the session goes back, with what is in each."""
    try:
        wish = wish_asked(request.GET)
    except WishError:
        wish = Wish()
    session = load_session(session_id)
    made = handback(session=session, wish=wish, now=clock())
    shell = session_shell(request, session_id, "more")
    forms = forms_of(session.source.kind, session.dialect)
    if not request.user.has_perm(REPAIR):
        forms = tuple(form for form in forms if form not in WRITTEN_BACK)
    context = {"exports": _exports(session, forms, made, wish), "wish": wish, "upload": not session.source.live}
    return render(request, "sessions/more.html", shell | context)


@dataclass(frozen=True, slots=True)
class ExportGroup:
    """Forms with the same in them, and what that is ("" = it could not be looked at)."""

    words: str
    blocked: bool
    forms: list[tuple[str, str]]


def _exports(session: Session, forms: tuple[Form, ...], made: Handback, wish: Wish) -> list[ExportGroup]:
    address = reverse("api:session_export", args=[session.pk])
    asked = [("rule", rule) for rule in wish.rules] + [("finding", key) for key in wish.findings]
    asked += [("choice", f"{key}={name}") for key, name in wish.choices.items()]
    asked += [("safety", wish.safety)] if wish.safety != "safe" else []
    groups: dict[str, ExportGroup] = {}
    for form in forms:
        found = made.within(form)
        if form in ("patch", "undo") and not made.patchable:
            continue
        words = found.words if found else ""
        group = groups.setdefault(words, ExportGroup(words, found is not None and found.blocked, []))
        group.forms.append((WORDS[form], f"{address}?{urlencode([('as', form), *asked])}"))
    return list(groups.values())
