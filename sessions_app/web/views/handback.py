"""Handing a session back: what each file would hold is said before anything is downloaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpResponseBase, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from sessions_app.domain.wish import Wish, WishError
from sessions_app.models import Session
from sessions_app.services.handback.forms import HANDBACK, Form, HandBackForm, forms_of
from sessions_app.services.handback.levels import Level, LevelName, form_size, handback_levels
from sessions_app.services.handback.outlook import Outlook
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.web import present
from sessions_app.web.addresses import address
from sessions_app.web.http import REPAIR, VIEW, HtmxRequest, allowed, clock, load_session
from sessions_app.web.shell import session_shell
from sessions_app.web.views.repairing import wish_asked, wish_query

LEVELS: dict[LevelName, str] = {
    "stored": "As it is stored now",
    "safe": "With the safe repairs",
    "lossy": "Also repairs that drop something",
    "chosen": "With the repairs you chose",
}


@dataclass(frozen=True, slots=True)
class State:
    """How a session stands in a file. ``first``: what is wrong first, with its place."""

    look: present.Look
    words: str
    first: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A level as one of several links."""

    level: Level
    word: str
    state: State
    url: str
    current: bool

    @property
    def changed(self) -> str:
        return f"{present.counted(self.level.changed, 'row')} changed" if self.level.changed else "nothing changed"


@dataclass(frozen=True, slots=True)
class Offer:
    """A file to take. ``state`` None: it tells both (a report). ``why_not``: it is not offered, "" = it is."""

    form: HandBackForm
    title: str
    what: str
    state: State | None
    size: int
    url: str
    why_not: str


@require_GET
@allowed(VIEW)
def handback(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    session, chosen, problem = load_session(session_id), _chosen(request.GET), ""
    levels: tuple[Level, ...] = ()
    try:
        levels = handback_levels(session=session, chosen=chosen, now=clock())
    except RepairRefused as refusal:
        problem = refusal.words
    shell = session_shell(request, session_id, "handback")
    own = str(shell["session"].target.get("protocol", ""))
    level = _level(levels, request.GET.get("level", ""), chosen)
    children = request.GET.get("children") == "yes" and bool(shell["detail"].children)

    def url(named: Level, *, children: bool) -> str:
        kept = {"level": named.name, "children": "yes" if children else "", "list": shell["list_query"]}
        return f"?{wish_query(chosen or Wish(), **kept)}"

    context = {
        "problem": problem,
        "choices": [
            Choice(one, LEVELS[one.name], _state(one.after, own), url(one, children=children), one is level)
            for one in levels
        ],
        "chosen": level,
        "states": {"stored": _state(level.stored), "after": _state(level.after)} if level else {},
        "offers": list(_offers(request, session, level, children)) if level else (),
        "children": children,
        "children_url": url(level, children=not children) if level and shell["detail"].children else "",
        "upload": not session.source.live,
        "repair_url": reverse("sessions_app:session", args=[session_id]) + address({"list": shell["list_query"]}),
    }
    return render(request, "sessions/handback.html", shell | context)


def _chosen(query: QueryDict) -> Wish | None:
    """The repairs that were chosen on another page; None where none were."""
    named = any(name in ("finding", "rule", "safety") or name.startswith("choice.") for name in query)
    try:
        return wish_asked(query) if named else None
    except WishError:
        return None


def _level(levels: tuple[Level, ...], asked: str, chosen: Wish | None) -> Level | None:
    """The level that is asked for; else what was chosen, else the safe one. Never one that drops something."""
    by_name = {level.name: level for level in levels}
    if asked in by_name:
        return by_name[asked]
    named = next((level for level in levels if chosen is not None and level.wish == chosen), None)
    return by_name.get("chosen") or named or by_name.get("safe") or by_name.get("stored")


def _state(told: Outlook, own: str = "") -> State:
    """``own``: the protocol of the session's target."""
    look = present.HEALTH.get(told.health, present.UNKNOWN)
    accepts = f"{present.PROVIDER.get(own, own)} accepts the next message" if own and not told.blocked else ""
    return State(look, told.state, told.first or accepts)


def _offers(request: HtmxRequest, session: Session, level: Level, children: bool) -> Iterator[Offer]:
    for form in forms_of(session.source.kind, session.dialect):
        kind = HANDBACK[form]
        if kind.written_back and not request.user.has_perm(REPAIR):
            continue
        none, stored = form in ("patch", "undo") and not level.patchable, level.name == "stored"
        asked = _query(form, level) + ([("children", "true")] if children and form == "export" else [])
        yield Offer(
            kind,
            kind.title.replace("Repaired copy", "Copy") if stored else kind.title,
            kind.what.replace(" with this session changed in it", "") if stored else kind.what,
            None if form == "report" and not stored else _state(level.within(form)),
            form_size(session, form),
            f"{reverse('api:session_export', args=[session.pk])}?{urlencode(asked)}",
            "Nothing is changed, so it would be empty." if none else "",
        )


def _query(form: Form, level: Level) -> list[tuple[str, str]]:
    wish = level.wish
    asked: list[tuple[str, str]] = [("as", form)]
    if HANDBACK[form].repaired and level.name == "stored":
        return [*asked, ("repaired", "false")]
    asked += [("rule", rule) for rule in wish.rules] + [("finding", key) for key in wish.findings]
    asked += [("choice", f"{key}={name}") for key, name in wish.choices.items()]
    return asked + ([("safety", wish.safety)] if wish.safety != "safe" else [])
