"""What can be done with a session of the list: a menu in its row, or a page of its own without script."""

from __future__ import annotations

from django.http import Http404, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET

from sessions_app.selectors.sessions import session_detail
from sessions_app.web.addresses import address
from sessions_app.web.http import REPAIR, VIEW, HtmxRequest, allowed


@require_GET
@allowed(VIEW)
def row_menu(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    detail = session_detail(session_id)
    if detail is None:
        raise Http404("There is no such session here. Its store may have been deleted.")
    row, listed = detail.row, request.GET.get("list", "")[:2000]
    back = address({"list": listed})

    def at(name: str) -> str:
        return reverse(f"sessions_app:{name}", args=[row.id])

    wish = {"list": listed} if row.fate == "safe" else {"list": listed, "safety": "lossy"}
    mends = row.fate in ("safe", "choice")
    context = {
        "section": "sessions",
        "row": row,
        "safe": detail.safe_count if row.fate == "safe" and request.user.has_perm(REPAIR) else 0,
        "here": reverse("sessions_app:sessions") + (f"?{listed}" if listed else ""),
        "links": [
            ("Open", "right", at("session") + back),
            *([("Preview the repair", "search", at("repair") + address(wish))] if mends else []),
            *([("Ignore a fault…", "info", at("findings") + back)] if row.findings else []),
            ("Hand back…", "download", at("handback") + back),
            ("What its store holds", "source", f"{reverse('sessions_app:sessions')}?source={row.source_id}"),
        ],
    }
    menu = request.htmx and not request.htmx.history_restore_request
    response = render(request, "sessions/_row_menu.html" if menu else "sessions/menu.html", context)
    response["HX-Replace-Url"] = "false"
    patch_vary_headers(response, ["HX-Request"])
    return response
