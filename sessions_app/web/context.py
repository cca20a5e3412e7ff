"""What every page's frame needs: the clock of this request and the reader's preferences (cookies)."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

from django.http import HttpRequest

HTMX = json.dumps(
    {
        "includeIndicatorStyles": False,
        "allowEval": False,
        "allowScriptTags": False,
        "selfRequestsOnly": True,
        "historyCacheSize": 0,
        "refreshOnHistoryMiss": True,
        "scrollBehavior": "instant",
    },
    separators=(",", ":"),
)
"""htmx's settings: nothing that the strict policy forbids, and no transcript in the browser's storage;
going back loads the page, whose scripts start anew."""

THEMES = {"system": "System", "light": "Light", "dark": "Dark"}
SHORTCUTS = {"on": "On", "alt": "Only with Alt", "off": "Off"}
ROWS = {"compact": "Compact", "roomy": "Roomy"}


def preference(request: HttpRequest, name: str, allowed: dict[str, str]) -> str:
    """A preference cookie, the first allowed value where it is missing or unknown."""
    value = request.COOKIES.get(f"suture_{name}", "")
    return value if value in allowed else next(iter(allowed))


def chrome(request: HttpRequest) -> dict[str, Any]:
    """Context processor."""
    return {
        "htmx_config": HTMX,
        "now": dt.datetime.now(tz=dt.UTC),
        "theme": preference(request, "theme", THEMES),
        "themes": THEMES,
        "shortcuts": preference(request, "shortcuts", SHORTCUTS),
        "shortcut_modes": SHORTCUTS,
        "rows": preference(request, "rows", ROWS),
        "row_heights": ROWS,
    }
