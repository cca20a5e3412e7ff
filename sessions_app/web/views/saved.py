"""Saving, changing and deleting views of the list."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from sessions_app.models import SavedView
from sessions_app.services.savedviews import ViewRefused, view_change, view_delete, view_save
from sessions_app.web.columns import chosen_columns
from sessions_app.web.http import VIEW, HtmxRequest, allowed, clock, reader


@require_POST
@allowed(VIEW)
def save(request: HtmxRequest) -> HttpResponseBase:
    """Save the filter that the list shows, under a new name or over the own view of that name."""
    query = request.POST.get("query", "")[:4000]
    try:
        view = view_save(
            owner=reader(request),
            name=request.POST.get("name", ""),
            query=query,
            columns=chosen_columns(request.POST.getlist("column")),
            shared=request.POST.get("shared") == "yes",
            now=clock(),
        )
    except ViewRefused as refusal:
        messages.warning(request, str(refusal), extra_tags="risk")
        return redirect(f"{reverse('sessions_app:sessions')}?{query}")
    messages.success(request, f"Saved as “{view.name}”.")
    return _to(view)


@require_POST
@allowed(VIEW)
def change(request: HtmxRequest, view_id: int) -> HttpResponseBase:
    view = _own(request, view_id)
    try:
        view_change(view=view, name=request.POST.get("name", ""), shared=request.POST.get("shared") == "yes")
    except ViewRefused as refusal:
        messages.warning(request, str(refusal), extra_tags="risk")
        view.refresh_from_db()
    return _to(view)


@require_POST
@allowed(VIEW)
def delete(request: HtmxRequest, view_id: int) -> HttpResponseBase:
    view = _own(request, view_id)
    view_delete(view=view)
    messages.success(request, f"The view “{view.name}” is deleted; no session is touched by that.")
    return redirect("sessions_app:sessions")


def _own(request: HtmxRequest, view_id: int) -> SavedView:
    view = SavedView.objects.filter(pk=view_id, owner=request.user.pk).first()
    if view is None:
        raise Http404("You have no such view. A shared view is changed by its owner only.")
    return view


def _to(view: SavedView) -> HttpResponse:
    tail = "&" if view.query else ""
    return redirect(f"{reverse('sessions_app:sessions')}?{view.query}{tail}view={view.pk}")
