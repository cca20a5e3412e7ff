"""Signing in, preferences, help."""

from __future__ import annotations

from dataclasses import asdict

from django.contrib.auth import login as start_login
from django.contrib.auth import views as auth_views
from django.contrib.auth.decorators import login_not_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from sessions_app.domain.rules import REGISTRY
from sessions_app.ruletexts import rule_texts
from sessions_app.services.access import LoginLinkRefused, login_link_use
from sessions_app.web.columns import chosen_columns
from sessions_app.web.context import ROWS, SHORTCUTS, THEMES
from sessions_app.web.helpwords import KEYS, WORDS
from sessions_app.web.http import HtmxRequest, back_to, clock, wants_partial
from sessions_app.web.present import SEVERITY

YEAR = 365 * 24 * 3600
OPENED = 3
"""Rules of a search that are shown open."""

login = auth_views.LoginView.as_view(template_name="account/login.html", redirect_authenticated_user=True)
logout = auth_views.LogoutView.as_view()


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def login_link(request: HtmxRequest, token: str) -> HttpResponse:
    """The one-time link that ``serve`` prints. GET only shows a button, so that a preview of the link does not spend
    it."""
    if request.method == "GET":
        if request.user.is_authenticated:
            return redirect("sessions_app:overview")
        return render(request, "account/link.html")
    try:
        user = login_link_use(token=token, now=clock())
    except LoginLinkRefused as refused:
        return render(request, "account/link.html", {"refused": str(refused)}, status=403)
    start_login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return redirect("sessions_app:overview")


@require_POST
def preferences(request: HtmxRequest) -> HttpResponse:
    """Theme, shortcuts, rows and columns live in cookies, so that the server renders them and nothing flashes."""
    response = back_to(request, "sessions_app:sessions")
    chosen = {
        name: request.POST[name]
        for name, choices in (("theme", THEMES), ("shortcuts", SHORTCUTS), ("rows", ROWS))
        if request.POST.get(name) in choices
    }
    if "columns" in request.POST:
        chosen["columns"] = ".".join(chosen_columns(request.POST.getlist("column")))
    for name, value in chosen.items():
        response.set_cookie(
            f"suture_{name}", value, max_age=YEAR, samesite="Lax", secure=request.is_secure(), httponly=True
        )
    return response


@require_GET
def help_page(request: HtmxRequest) -> HttpResponse:
    """Words, keys and rules; a search leaves those that hold every word of it."""
    asked = request.GET.get("q", "").strip()[:200]
    wanted = asked.lower().split()

    def fits(*said: object) -> bool:
        return all(word in " ".join(map(str, said)).lower() for word in wanted)

    texts = rule_texts()
    rules = [
        {"code": code, "severity": rule.severity, "safety": rule.safety, **asdict(texts[code])}
        for code, rule in sorted(REGISTRY.items(), key=lambda item: texts[item[0]].kind)
        if fits(code, *asdict(texts[code]).values())
    ]
    groups = [(severity, [rule for rule in rules if rule["severity"] == severity]) for severity in SEVERITY]
    context = {
        "section": "help",
        "asked": asked,
        "groups": [(severity, found) for severity, found in groups if found],
        "words": [word for word in WORDS if fits(*word)],
        "keys": [column for column in ([key for key in keys if fits(*key)] for keys in KEYS) if column],
        "count": len(rules),
        "open": bool(asked) and len(rules) <= OPENED,
    }
    template = "help.html#found" if wants_partial(request, "help-found") else "help.html"
    response = render(request, template, context)
    patch_vary_headers(response, ["HX-Request"])
    return response
