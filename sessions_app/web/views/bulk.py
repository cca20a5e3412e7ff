"""The one page of bulk repairs, for the list's selection and the admin's: preview, start, progress, cancel, retry,
undo, report."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from sessions_app.domain.wish import Wish, WishError
from sessions_app.models import RepairBatch
from sessions_app.selectors.bulk import applied_count, report_csv, report_rows, still_blocked_count
from sessions_app.selectors.filters import FilterRefused, SessionFilter
from sessions_app.services.bulk import (
    PRESETS,
    BulkRefused,
    Selection,
    bulk_cancel,
    bulk_retry,
    bulk_start,
    bulk_undo,
    selection_keep,
    selection_kept,
)
from sessions_app.services.bulkpreview import bulk_preview
from sessions_app.tasks import job_enqueue
from sessions_app.web.batches import batch_lines, batch_outcome
from sessions_app.web.http import FACE, REPAIR, VIEW, HtmxRequest, actor, allowed, clock
from sessions_app.web.jobs import STOP_POLLING, nobody_works, pace

SHOWN_RESULTS = 100
_OWN = ("selection", "preset", "only", "safety", "stop", "force", "reason", "csrfmiddlewaretoken", "page", "view")
"""Names in the address and the forms that are no conditions."""


@dataclass(frozen=True, slots=True)
class Field:
    """A hidden input that carries the selection or an option on."""

    name: str
    value: str


@require_http_methods(["GET", "POST"])
@allowed(REPAIR)
def bulk(request: HtmxRequest) -> HttpResponseBase:
    """The preview. The list posts its ticked sessions here and is sent on to an address that can be loaded again."""
    if request.method == "POST":
        return redirect(f"{reverse('sessions_app:bulk')}?{_address(request)}")
    try:
        selection, wish = _asked(request, request.GET)
    except (FilterRefused, WishError) as problem:
        return _back(request, str(problem))
    preview = bulk_preview(selection=selection, wish=wish, now=clock())
    context = {
        "section": "repairs",
        "preview": preview,
        "options": wish,
        "stop": bool(request.GET.get("stop")),
        "base": _carried(request.GET, ()),
        "carried": _carried(request.GET, ("only", "safety", "stop", "force")),
        "rules": tuple({line.rule: line.title for line in preview.rules}.items()),
        "back": _list_of(selection),
    }
    return render(request, "bulk/preview.html", context)


@require_POST
@allowed(REPAIR)
def start(request: HtmxRequest) -> HttpResponseBase:
    try:
        selection, wish = _asked(request, request.POST)
        batch = bulk_start(
            selection=selection,
            wish=wish,
            stop_on_failure=bool(request.POST.get("stop")),
            reason=request.POST.get("reason", "")[:2000],
            actor=actor(request),
            face=FACE,
            now=clock(),
        )
    except (BulkRefused, FilterRefused, WishError) as refusal:
        return _back(request, str(refusal))
    return _going(batch)


@require_GET
@allowed(VIEW)
def batch(request: HtmxRequest, number: uuid.UUID) -> HttpResponseBase:
    """Progress and result; htmx asks for the progress alone, once a second, until it is finished."""
    found = _batch(number)
    standing = applied_count(found)
    undoing = found.state == RepairBatch.State.UNDOING
    done, total = (found.repaired - standing, found.repaired) if undoing else (found.done, found.total)
    context = {
        "section": "repairs",
        "batch": found,
        "active": found.active,
        "nobody": found.active and nobody_works(clock()),
        "going": {
            "undoing": undoing,
            "done": max(0, done),
            "total": total,
            "percent": min(100, 100 * max(0, done) // total) if total else 0,
            "pace": pace(request.GET, max(0, done), total, clock()),
        },
    }
    if not found.active:
        blocked, may_repair = still_blocked_count(found), request.user.has_perm(REPAIR)
        context |= {
            "outcome": batch_outcome(found, standing=standing, blocked=blocked, may_repair=may_repair),
            "lines": batch_lines(found, SHOWN_RESULTS),
            "more": max(0, found.rows.count() - SHOWN_RESULTS),
        }
    if request.htmx and request.htmx.target == "progress":
        template = "bulk/batch.html#progress"
        return render(request, template, context, status=200 if found.active else STOP_POLLING)
    return render(request, "bulk/batch.html", context)


@require_POST
@allowed(REPAIR)
def cancel(request: HtmxRequest, number: uuid.UUID) -> HttpResponseBase:
    found = _batch(number)
    try:
        bulk_cancel(batch=found, actor=actor(request), face=FACE, now=clock())
    except BulkRefused as refusal:
        messages.warning(request, str(refusal), extra_tags="risk")
    return redirect("sessions_app:batch", found.public_id)


@require_POST
@allowed(REPAIR)
def undo(request: HtmxRequest, number: uuid.UUID) -> HttpResponseBase:
    found = _batch(number)
    try:
        bulk_undo(batch=found, actor=actor(request), face=FACE, now=clock())
    except BulkRefused as refusal:
        messages.warning(request, str(refusal), extra_tags="risk")
        return redirect("sessions_app:batch", found.public_id)
    return _going(found)


@require_POST
@allowed(REPAIR)
def retry(request: HtmxRequest, number: uuid.UUID) -> HttpResponseBase:
    found = _batch(number)
    try:
        again = bulk_retry(batch=found, actor=actor(request), face=FACE, now=clock())
    except BulkRefused as refusal:
        messages.warning(request, str(refusal), extra_tags="risk")
        return redirect("sessions_app:batch", found.public_id)
    return _going(again)


@require_GET
@allowed(VIEW)
def report(request: HttpRequest, number: uuid.UUID, form: str) -> HttpResponseBase:
    """What came of each session, as a file."""
    found = _batch(number)
    response: HttpResponse
    if form == "csv":
        response = HttpResponse(report_csv(found), content_type="text/csv; charset=utf-8")
    else:
        response = JsonResponse({"batch": str(found.public_id), "sessions": list(report_rows(found))})
    response["Content-Disposition"] = f'attachment; filename="suture-bulk-{found.public_id}.{form}"'
    return response


def _batch(number: uuid.UUID) -> RepairBatch:
    found = RepairBatch.objects.filter(public_id=number).first()
    if found is None:
        raise Http404("There is no such bulk repair.")
    return found


def _back(request: HtmxRequest, words: str) -> HttpResponse:
    """To the list, with what cannot be done."""
    messages.warning(request, words, extra_tags="risk")
    return redirect("sessions_app:sessions")


def _list_of(selection: Selection) -> str:
    """The list that was come from."""
    query = selection.filter.to_query() if selection.filter else ""
    return reverse("sessions_app:sessions") + (f"?{query}" if query else "")


def _going(batch: RepairBatch) -> HttpResponse:
    job_enqueue(batch)
    return redirect("sessions_app:batch", batch.public_id)


def _address(request: HtmxRequest) -> str:
    """The query string of what the list posted: its own query, or the key under which its ticked sessions are kept."""
    if request.POST.get("scope") == "all":
        return request.POST.get("query", "")
    ids = tuple(int(text) for text in request.POST.getlist("session") if text.isascii() and text.isdigit())
    return urlencode({"selection": selection_keep(request.session, Selection(ids=ids))})


def _asked(request: HtmxRequest, given: QueryDict) -> tuple[Selection, Wish]:
    """What is to be repaired, and how. Raises ``WishError``."""
    key = given.get("selection", "")
    selection = (
        selection_kept(request.session, key) if key else Selection(filter=SessionFilter.understood(given, also=_OWN))
    )
    if selection is None:
        raise Http404("This selection is not kept any more. Choose the sessions again.")
    preset = PRESETS.get(given.get("preset", ""))
    if preset is not None:
        return selection, preset.wish
    rules = (rule for rule in given.getlist("only") if rule)
    wish = Wish.of(rules=rules, safety=given.get("safety") or "safe", force=bool(given.get("force")))
    return selection, wish


def _carried(given: QueryDict, options: tuple[str, ...]) -> list[Any]:
    """The selection, and the ``options`` named, as hidden inputs."""
    wanted = SessionFilter.from_query(given)
    kept = given.get("selection", "")
    fields = [Field("selection", kept)] if kept else []
    for name, value in () if fields else wanted.as_dict().items():
        fields += [Field(name, str(item)) for item in (value if isinstance(value, list) else [value])]
    names = (*options, *(("preset",) if options and given.get("preset") in PRESETS else ()))
    return fields + [Field(name, value) for name in names for value in given.getlist(name) if value]
