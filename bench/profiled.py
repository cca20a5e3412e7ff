"""Where the time goes: one of four works under the profiler."""

from __future__ import annotations

import cProfile
import io
import os
import pstats
import re
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from bench import listpages
from bench.pages import Browser, Page
from bench.shaped import Shape, make_shaped
from bench.suture import begin, imported

TOP, REQUESTS = 10, 5


def measure(work: str, path: str) -> dict[str, Any]:
    """The ten functions with the most time of their own: share in percent, calls, name; ``whole``: seconds, several
    times what they are without the profiler."""
    os.environ["SUTURE_JOBS"] = "1"  # or the work is done where no profiler looks
    profile = cProfile.Profile(time.process_time)
    action = _WORKS[work](Path(path))
    profile.runcall(action)
    stats: Any = pstats.Stats(profile)
    whole = stats.total_tt
    top = sorted(stats.stats.items(), key=lambda entry: -entry[1][2])[:TOP]
    return {"whole": whole, "top": [[100 * entry[2] / whole, entry[1], _name(key)] for key, entry in top]}


def _scan(path: Path) -> Callable[[], object]:
    from sessions_app.cli import main

    def scan(file: Path) -> None:
        with redirect_stdout(io.StringIO()):
            main(["scan", str(file), "--ndjson"])

    one = Path("one.db").resolve()
    make_shaped(one, Shape(1))
    scan(one)  # loads what is loaded
    return lambda: scan(path)


def _import(path: Path) -> Callable[[], object]:
    begin()
    return lambda: imported(path)


def _page(path: Path) -> Callable[[], object]:
    begin()
    imported(path)
    from sessions_app.models import Session

    return _asked(Page(f"/sessions/{Session.objects.get().pk}/"))


def _list(path: Path) -> Callable[[], object]:
    begin()
    imported(path)
    listpages.multiply(20_000)
    from django.urls import reverse

    return _asked(Page(reverse("sessions_app:sessions")))


def _asked(page: Page) -> Callable[[], object]:
    browser = Browser()
    browser.get(page)

    def ask() -> None:
        for _ in range(REQUESTS):
            browser.get(page)

    return ask


_WORKS: dict[str, Callable[[Path], Callable[[], object]]] = {
    "scan": _scan,
    "import": _import,
    "session page": _page,
    "list": _list,
}


def _name(key: tuple[str, int, str]) -> str:
    """``module.function``, without the folders of this machine."""
    file, _, function = key
    for root in ("sessions_app/", "site-packages/", "python3.13/"):
        if root in file:
            return f"{file.rpartition(root)[2].removesuffix('.py').replace('/', '.')}: {function.strip('<>')}"
    return re.sub(r" at 0x\w+", "", function.strip("<>"))
