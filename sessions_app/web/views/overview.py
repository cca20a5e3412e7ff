"""The overview: what cannot go on, why, and what to press."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from django.http import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from sessions_app.ruletexts import rule_kind
from sessions_app.selectors.history import repairs_lately
from sessions_app.selectors.overview import Kind, Overview, overview
from sessions_app.selectors.sources import source_rows
from sessions_app.web import present
from sessions_app.web.addresses import address
from sessions_app.web.daychart import day_chart
from sessions_app.web.http import REPAIR, SOURCES, VIEW, HtmxRequest, allowed, clock
from sessions_app.web.pills import health_pills
from sessions_app.web.standing import standing, ways_out

KINDS_SHOWN = 9
STORES_SHOWN = 7
PROTOCOLS_SHOWN = 2


@dataclass(frozen=True, slots=True)
class Line:
    """A kind of fault; ``share`` is its percentage of the largest that is as grave; ``mend`` leads to its repair in
    bulk, "" = none."""

    look: present.Look
    kind: Kind
    words: str
    url: str
    share: int
    refused_by: str
    mend: str


@require_GET
@allowed(VIEW)
def front(request: HtmxRequest) -> HttpResponseBase:
    """An address with conditions is one of the list, which stood here once."""
    if request.GET:
        return redirect(f"{reverse('sessions_app:sessions')}?{request.GET.urlencode()}")
    found = overview(clock().date())
    stores = source_rows()
    repairs = request.user.has_perm(REPAIR)
    lines = list(_lines(found.kinds, repairs))
    context = {
        "section": "overview",
        "nothing_at_all": not stores and not found.total,
        "found": found,
        "heading": standing(found.health),
        "ways_out": ways_out(asdict(found.freed)),
        "pills": health_pills(found.health, reverse("sessions_app:sessions")),
        "slices": list(_slices(found)),
        "safe_url": _bulk(health="blocked", fate="safe") if repairs and found.freed.safe else "",
        "choice_url": _list(health="blocked", fate="choice") if found.freed.choice else "",
        "lines": lines[:KINDS_SHOWN],
        "more": lines[KINDS_SHOWN:],
        "chart": day_chart(found.days),
        "stores": stores[:STORES_SHOWN],
        "more_stores": len(stores[STORES_SHOWN:]),
        "lately": repairs_lately(),
        "may_repair": repairs,
        "may_add": request.user.has_perm(SOURCES),
    }
    return render(request, "overview/overview.html", context)


def _bulk(**wanted: str) -> str:
    return reverse("sessions_app:bulk") + address(wanted)


def _list(**wanted: str) -> str:
    return reverse("sessions_app:sessions") + address(wanted)


def _lines(kinds: Iterable[Kind], repairs: bool) -> Iterator[Line]:
    kinds = list(kinds)
    most: dict[str, int] = {}
    for kind in kinds:
        most[kind.severity] = max(most.get(kind.severity, 1), kind.sessions)
    for kind in kinds:
        names = [present.PROVIDER[name] for name in kind.protocols]
        more = len(names) - PROTOCOLS_SHOWN
        yield Line(
            present.look("severity", kind.severity),
            kind,
            rule_kind(kind.rule),
            _list(rule=kind.rule, health="blocked") if kind.severity == "blocked" else _list(rule=kind.rule),
            max(2, round(100 * kind.sessions / most[kind.severity])),
            ", ".join(names[:PROTOCOLS_SHOWN]) + (f" +{more}" if more > 0 else ""),
            _bulk(rule=kind.rule) if kind.safe and repairs else "",
        )


def _slices(found: Overview) -> Iterator[tuple[str, float, float]]:
    """Tone, start and width of each health in percent of the bar; what is there can be seen."""
    counts = [(health, number) for health, number in found.health.items() if number]
    widths = [max(0.8, 100 * number / found.total) for _, number in counts]
    start = 0.0
    for (health, _), width in zip(counts, widths, strict=True):
        share = 100 * width / sum(widths)
        yield present.HEALTH[health].tone, round(start, 2), round(share, 2)
        start += share
