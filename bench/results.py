"""Figures with the machine they were measured on: stored under docs/, shown as tables, compared."""

from __future__ import annotations

import json
import os
import platform
import re
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.figures import Figure, Found, Table

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "docs" / "benchmarks.json"
PAGE = ROOT / "docs" / "benchmarks.md"
SLOWER = 1.25
"""A ratio this much greater than the stored one is told."""

type Result = dict[str, Any]


def result(found: Found, database: str, size: str, commit: str) -> Result:
    """Everything of one run that is kept."""
    table = Table(found, "wall" if database == "postgresql" else "cpu")
    return {
        "machine": machine(),
        "database": database,
        "size": size,
        "commit": commit,
        "at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "floor": found["floor"],
        "copy": found["copy"],
        "figures": [asdict(one) for one in table.figures()],
        "pages": [list(row) for row in table.pages()],
    }


def machine() -> dict[str, Any]:
    """What the figures depend on; no name of the machine."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists() and (named := re.search(r"model name\s*:\s*(.+)", info.read_text())):
        cpu = named[1].strip()
    return {
        "cpu": cpu,
        "cores": os.process_cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }


def commit_of(path: Path) -> str:
    """Short id, "" where it is no working copy of git."""
    found = subprocess.run(["git", "-C", str(path), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return found.stdout.strip()


def key_of(made: Result) -> str:
    return f"{made['database']}-{made['size']}"


def stored() -> dict[str, Result]:
    return json.loads(STORED.read_text()) if STORED.exists() else {}


def store(made: Result, before: Result | None) -> None:
    """Keep a run, and put its tables into the page."""
    kept = stored() | {key_of(made): made | ({"before": before} if before else {})}
    STORED.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    put(key_of(made), [*described(made, before), "", *main_table(made, before), "", *page_table(made, before)])


def put(key: str, lines: Sequence[str], page: Path = PAGE) -> None:
    """These lines in the page, in place of those of the same key."""
    text = page.read_text()
    start, end = f"<!-- {key} -->", f"<!-- end of {key} -->"
    body = "\n".join([start, *lines, end])
    if start in text:
        text = text[: text.index(start)] + body + text[text.index(end) + len(end) :]
    else:
        text = f"{text.rstrip()}\n\n{body}\n"
    page.write_text(text)


def slower(made: Result, then: Result) -> list[str]:
    """A line for each figure whose ratio is over a quarter worse than it was."""
    was = {one["key"]: one for one in then["figures"]}
    told = []
    for one in made["figures"]:
        old = was.get(one["key"])
        if old and old["ratio"] > 0 and one["ratio"] > old["ratio"] * SLOWER:
            told.append(
                f"{one['work']}: {_number(one['value'])} {one['unit']}, was {_number(old['value'])}"
                f" ({one['ratio'] / old['ratio']:.2f} times the stored ratio)"
            )
    return told


def described(made: Result, before: Result | None) -> list[str]:
    on, cost, copy = made["machine"], made["floor"], made["copy"]
    words = f"{made['size']} store, {made['database']}, commit {made['commit']}" + (
        f" beside {before['commit']} in one run" if before else ""
    )
    return [
        f"### {words}",
        "",
        f"{on['cpu']}, {on['cores']} cores, load {on['load']}, {on['system']}, Python {on['python']},"
        f" SQLite {on['sqlite']}; {made['at']} UTC. Floor: reading {cost['cpu']:.2f} s of processor"
        f" ({cost['wall']:.2f} s by the clock), plain copy {copy['cpu']:.2f} s ({copy['wall']:.2f} s).",
    ]


def main_table(made: Result, before: Result | None) -> list[str]:
    was = {one["key"]: one for one in before["figures"]} if before else {}
    heads = ["work", *(["before"] if before else []), "now", "unit", "to reach", "reached", "x floor"]
    rows = []
    for one in made["figures"]:
        figure = Figure(**one)
        reached = {True: "yes", False: "**no**", None: ""}[figure.reached]
        old = [_number(was[figure.key]["value"]) if figure.key in was else ""] if before else []
        target = "" if figure.target is None else _number(figure.target)
        rows.append([figure.work, *old, _number(figure.value), figure.unit, target, reached, figure.beside_floor])
    return markdown(heads, rows)


def page_table(made: Result, before: Result | None) -> list[str]:
    was = {row[0]: row for row in before["pages"]} if before else {}
    heads = [
        "page",
        "first, ms",
        "p50, ms",
        "p95, ms",
        "queries",
        "kB",
        *(["p50 before", "kB before"] if before else []),
    ]
    rows = []
    for name, first, half, most, queries, size in made["pages"]:
        old = was.get(name)
        more = ([f"{old[2]:,.0f}", f"{old[5]:,}"] if old else ["", ""]) if before else []
        rows.append([name, f"{first:,.0f}", f"{half:,.0f}", f"{most:,.0f}", f"{queries}", f"{size:,}", *more])
    return markdown(heads, rows)


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(row) + " |" for row in (heads, *rows)]
    return [lines[0], "|" + "|".join("---" if at == 0 else "---:" for at in range(len(heads))) + "|", *lines[1:]]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def say(lines: Sequence[str]) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
