"""What a page's address may ask for. A name or a value that is misspelt is said, with what was probably meant, instead
of showing a page that was not asked for.

A name that looks like none that the page knows is somebody else's (mail programs add theirs) and is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any, get_args

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from sessions_app.domain.near import nearest, unknown
from sessions_app.domain.rules import REGISTRY
from sessions_app.domain.wire.names import PROTOCOLS
from sessions_app.domain.wish import LEVELS, RULES_LISTED, THINKING
from sessions_app.models import Message, Repair
from sessions_app.services.bulk import PRESETS
from sessions_app.services.handback.levels import LevelName
from sessions_app.web.orders import ORDERS
from sessions_app.web.reader import NAMES as READ
from sessions_app.web.views.repairing import VIEWS

type Values = Collection[str]
"""What a parameter may be; none = anything."""

_ANY: Values = ()
_EVERYWHERE = ("list", "page")
_TABLES = tuple(Message.Table.values)
_PLACE = dict.fromkeys(("at", "fault", "from", "to", "match", "was", "find", "all", "print", "outcome", "seen"), _ANY)
_READER: Mapping[str, Values] = {**dict.fromkeys(READ, _ANY), "lines": ("all",)}
_WISH = {"finding": _ANY, "rule": REGISTRY, "safety": LEVELS}

ASKED: Mapping[str, Mapping[str, Values]] = {
    "search": {"q": _ANY, "from": _ANY},
    "session": {**_PLACE, "history": _TABLES, "order": ORDERS, "index": ("all",), "ways": ("1",)},
    "session-markdown": {"history": _TABLES},
    "payload": {
        **_READER,
        **dict.fromkeys(("target", "download"), _ANY),
        "protocol": PROTOCOLS,
        "thinking": THINKING,
        "fixes": ("on",),
        "summary": ("1",),
    },
    "repair": {**_WISH, "force": ("yes",), "view": tuple(VIEWS)},
    "raw": _READER,
    "handback": {**_WISH, "level": get_args(LevelName.__value__), "children": ("yes",)},
    "part-body": {"show": _ANY, "lines": _ANY},
    "part-raw": {"download": ("1",)},
    "locate": {"session": _ANY},
    "help": {"q": _ANY},
    "repairs": {"q": _ANY, "state": tuple(Repair.State.values), "rule": REGISTRY, "actor": _ANY, "since": _ANY},
    "source-slim": {"keep_days": _ANY},
    "bulk": {"preset": tuple(PRESETS)},
}
"""Pages by the name of their address: parameters, each with all that it can be. The list of sessions says itself
what it does not understand."""


def asked(name: str, view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """The view of an address, guarded."""
    known = ASKED.get(name)
    if known is None:
        return view

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: Any, **kwargs: Any) -> HttpResponseBase:
        problems = list(_problems(request, known))
        if problems:
            context = {"problems": problems, "section": ""}
            return render(request, "422.html", context, status=422)
        return view(request, *args, **kwargs)

    return guarded


def _problems(request: HttpRequest, known: Mapping[str, Values]) -> list[str]:
    found = []
    names = (*known, *_EVERYWHERE)
    for name in request.GET:
        values = known.get(name, _ANY)
        if name not in names and nearest(name, names):
            found.append(unknown("parameter", name, names))
        if name == "page" and not request.GET[name].isdecimal():
            found.append(f"A page is a number; got {request.GET[name][:50]!r}.")
        for given in request.GET.getlist(name) if values else ():
            if given and given not in values:
                where = RULES_LISTED if values is REGISTRY else ""
                found.append(unknown(name, given[:200], values, where))
    return found
