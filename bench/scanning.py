"""Scanning, planning and previewing: ``python -m bench.scanning``.

Many small sessions, one of 20,000 parts, and the same one with a fault in every tenth call. Each figure is processor
time, beside a plain ``json.loads`` + ``json.dumps`` of the same rows in the same run.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sessions_app.domain import dialects
from sessions_app.domain.model import SessionRows
from sessions_app.domain.planning import plan, preview
from sessions_app.domain.scan import scan
from sessions_app.domain.wire.target import parse_target
from sessions_app.stores import open_store
from tests.factories.bigstore import make_store

LONGEST = 5.0
"""Seconds that a scan, a plan or a preview of the long session may take."""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        small = _stored(Path(folder) / "small.db", sessions=300, turns=2, steps=2, output=500)
        large = _stored(Path(folder) / "large.db", sessions=1, turns=1053, steps=3, output=1_000)
    print(f"{'step':42} {'parts':>7} {'seconds':>8} {'s/100,000':>10} {'x plain JSON':>13}")
    _line("decode and scan 300 sessions", small, _scan)
    slowest = [_line("decode and scan one session", large, _scan)]
    broken = [_broken(rows) for rows in large]
    slowest.append(_line("the same, every tenth call broken", broken, _scan))
    slowest.append(_line("plan of its repair", broken, lambda rows: plan(dialects.decode(rows))))
    slowest.append(_line("plan and preview", broken, _preview))
    return 1 if max(slowest) > LONGEST else 0


def _stored(path: Path, *, sessions: int, turns: int, steps: int, output: int) -> list[SessionRows]:
    make_store(path, sessions=sessions, turns=turns, steps=steps, output=output)
    with open_store(path) as store:
        return list(store.read_all())


def _scan(rows: SessionRows) -> None:
    scan(dialects.decode(rows))


def _preview(rows: SessionRows) -> None:
    session = dialects.decode(rows)
    target = parse_target("anthropic-messages:anthropic/claude-sonnet-4-5", "auto", session)
    preview(session, plan(session, target), target)


def _broken(rows: SessionRows) -> SessionRows:
    """A copy in which every tenth call is left running, has its neighbour's id, an odd id or arguments that are no
    object."""
    dice = random.Random(1)
    parts = [dict(row) for row in rows.parts]
    neighbour = ""
    for index, row in enumerate(parts):
        data = json.loads(row["data"])
        if data["type"] != "tool":
            continue
        if dice.random() < 0.1:
            kind = dice.randrange(4)
            if kind == 0:
                data["state"] = {"status": "running", "input": {}, "time": {"start": 1}}
            elif kind == 1 and neighbour:
                data["callID"] = neighbour
            elif kind == 2:
                data["callID"] = f"bad id {index}"
            else:
                data["state"]["input"] = "not an object"
            row["data"] = json.dumps(data)
        neighbour = data["callID"]
    return SessionRows(rows.session, [dict(row) for row in rows.messages], parts, projects=rows.projects)


def _line(what: str, sessions: list[SessionRows], action: Callable[[SessionRows], object]) -> float:
    """One line of the table; returns the seconds of the better of two runs."""
    parts = sum(len(rows.parts) for rows in sessions)
    texts = [row["data"] for rows in sessions for row in (*rows.messages, *rows.parts)]
    plain = _seconds(lambda: [json.dumps(json.loads(text)) for text in texts])
    seconds = _seconds(lambda: [action(rows) for rows in sessions])
    print(
        f"{what:42} {parts:7,} {seconds:8.2f} {seconds * 100_000 / parts:10.2f} {seconds / plain:13.1f}",
        flush=True,
    )
    return seconds


def _seconds(action: Callable[[], object]) -> float:
    fastest = float("inf")
    for _ in range(2):
        started = time.process_time()
        action()
        fastest = min(fastest, time.process_time() - started)
    return fastest


if __name__ == "__main__":
    raise SystemExit(main())
