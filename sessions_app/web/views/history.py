"""Repairs that were made, and taking them back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_POST

from sessions_app.models import Repair
from sessions_app.ruletexts import rule_kind
from sessions_app.selectors.history import RepairQuery, repair_detail, repair_page
from sessions_app.services.actor import Actor
from sessions_app.services.keeping import backups_kept
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.services.repair.undo import repair_undo
from sessions_app.web import present
from sessions_app.web.addresses import address
from sessions_app.web.chips import Chip
from sessions_app.web.diff import row_change_diff
from sessions_app.web.http import (
    FACE,
    REPAIR,
    VIEW,
    HtmxRequest,
    actor,
    allowed,
    clock,
    page_number,
    told_at,
    wanted_next,
)
from sessions_app.web.pager import numbered_pager

_BACKUPS = 20
"""Full backups on the page; ``suture backups`` lists them all."""


CONDITIONS: Mapping[str, Callable[[str], str]] = {
    "q": lambda text: f"matching “{text}”",
    "state": lambda state: present.look("repair", state).word.lower(),
    "rule": lambda code: rule_kind(code),
    "actor": lambda name: f"by {name}",
    "since": lambda day: f"since {day}",
}
"""What can be asked of the history, in words."""


@require_GET
@allowed(VIEW)
def repairs(request: HtmxRequest) -> HttpResponseBase:
    given = {name: request.GET.get(name, "").strip().replace("\x00", "")[:200] for name in CONDITIONS}
    given["since"] = _day(given["since"])
    page = repair_page(RepairQuery(**given), page_number(request.GET))
    asked = {name: value for name, value in given.items() if value}
    backups = backups_kept()
    context = {
        "section": "repairs",
        "page": page,
        "may_repair": request.user.has_perm(REPAIR),
        "backups": backups[:_BACKUPS],
        "backups_more": len(backups[_BACKUPS:]),
        "pager": numbered_pager(page, urlencode(asked)),
        "asked": given,
        "terms": [Chip(CONDITIONS[name](value), address({**asked, name: ""}) or "?") for name, value in asked.items()],
        "states": Repair.State.choices,
    }
    return render(request, "repairs/list.html", context)


@require_GET
@allowed(VIEW)
def repair(request: HtmxRequest, public_id: str) -> HttpResponseBase:
    return _detail(request, public_id)


def _day(text: str) -> str:
    """An ISO day; "" for what is none."""
    try:
        return dt.date.fromisoformat(text).isoformat()
    except ValueError:
        return ""


def _detail(request: HtmxRequest, public_id: str, refused: RepairRefused | None = None) -> HttpResponse:
    detail = repair_detail(public_id)
    if detail is None:
        raise Http404("There is no such repair.")
    context = {
        "section": "repairs",
        "detail": detail,
        "repair": detail.repair,
        "diffs": [row_change_diff(change) for change in detail.changes],
        "may_repair": request.user.has_perm(REPAIR),
        "refused": refused,
    }
    return render(request, "repairs/detail.html", context, status=409 if refused else 200)


@require_POST
@allowed(REPAIR)
def undo(request: HtmxRequest, public_id: str) -> HttpResponseBase:
    """Put the rows back as they were before the repair. It is a repair itself, and in the history."""
    found = Repair.objects.select_related("session__source", "source", "undoes").filter(public_id=public_id).first()
    if found is None:
        raise Http404("There is no such repair.")
    who = Actor(actor(request), FACE, request.POST.get("reason", "").strip()[:2000])
    try:
        repair_undo(repair=found, actor=who, now=clock())
    except RepairRefused as refusal:
        return _detail(request, public_id, refusal)
    if wanted_next(request):  # a page that tells the outcome in its bar
        return redirect(told_at(request, "", public_id))
    messages.success(
        request,
        f"Taken back: {found.session_title or found.session_stored_id} is as it was before the repair.",
    )
    if found.session_id is not None:
        return redirect("sessions_app:session", found.session_id)
    return redirect("sessions_app:repair-detail", public_id)
