"""Everything one looks at of a session of 20,000 parts with some faults."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from bench.pages import Browser, Page, named
from bench.suture import begin, imported

HTMX = {"HX-Request": "true"}


def measure(path: str) -> dict[str, Any]:
    """``path`` holds such sessions alone. What counts the first time is asked of the first of them, which nobody has
    looked at yet."""
    begin()
    source = imported(Path(path))
    from sessions_app.models import Part, Session

    session = Session.objects.filter(source=source).order_by("-time_updated")[0]
    here = f"/sessions/{session.pk}/"
    browser = Browser()
    pages = {"session, at its first fault": Page(here)}
    found = {name: browser.visit(page) for name, page in pages.items()}
    start = browser.get(Page(here)).decode()
    last = Part.objects.filter(session=session).order_by("-position")[0]
    call = Part.objects.filter(session=session, kind="tool").order_by("position")[90].call_id
    more = {
        "session, next fault": _link(here, start, r'data-key="n"'),
        "session, a swap": _link(here, start, r'data-key="\]"'),
        "session, its last part": Page(f"{here}?at={last.stored_id}"),
        "session, find": Page(f"{here}?find={call}"),
        "session, findings": Page(f"{here}findings/"),
        "repair preview": Page(f"{here}repair/"),
        "markdown": Page(f"{here}markdown/"),
        "payload": Page(f"{here}payload/"),
        "order, as sent": Page(f"{here}?order=sent"),
        "order, after the repair": Page(f"{here}?order=repaired"),
        "hand back": named("handback", "more", of=session.pk),
    }
    return {"pages": found | {name: browser.visit(page) for name, page in more.items()}}


def _link(here: str, html: str, key: str) -> Page:
    """The link that has this key, as htmx follows it where it does."""
    tag = next(tag for tag in re.findall(r"<a\b[^>]*>", html) if re.search(key, tag))
    target = re.search(r'hx-target="#?([^"]*)"', tag)
    address = re.search(r'hx-get="([^"]+)"', tag) or re.search(r'href="([^"]+)"', tag)
    assert address is not None, tag
    url = address[1].replace("&amp;", "&").partition("#")[0]
    headers = HTMX | {"HX-Target": target[1]} if target else {}
    return Page(url if url.startswith("/") else here + url, headers)
