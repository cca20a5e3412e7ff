"""The table of what must be fast: each line with its unit and what is to be reached, out of what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

type Found = dict[str, Any]
"""By step (``bench.steps``): what it gave."""

_NORMAL = {"ms": 1e-3, "s": 1.0}


@dataclass(frozen=True, slots=True)
class Figure:
    """``ratio``: the value where it does not depend on how fast the machine is, else against the floor of the same
    run; greater is slower."""

    key: str
    work: str
    value: float
    unit: str
    target: float | None
    ratio: float

    @property
    def reached(self) -> bool | None:
        """None: nothing is to be reached."""
        if self.target is None:
            return None
        return self.value >= self.target if self.unit.endswith("/s") else self.value <= self.target

    @property
    def beside_floor(self) -> str:
        """Times the floor, "" where it is no time."""
        return f"{self.ratio:,.2f}" if self.unit in _NORMAL else ""


class Table:
    """``clock``: whether an import's time is that of the processor, or the clock's where a database server shares the
    work."""

    def __init__(self, found: Found, clock: str) -> None:
        self._found, self._clock = found, clock
        self._floor: float = found["floor"]["cpu"]

    def figures(self) -> Iterator[Figure]:
        yield from self._scan()
        yield from self._mirror()
        yield from self._pages()
        found = self._found
        start, low = found["start"], found["lowering"]
        yield self._of("start", "a command on a bare file, start to end on a small one", start["cpu"], "s", 0.4)
        rate = low["items"] / low["canonical"]
        yield self._of("canonical", "canonical messages from raw rows", rate, "items/s", 100_000)
        yield self._of("body", "one body from canonical", low["items"] / low["body"], "items/s", 60_000)
        yield self._of("body.held", "a payload page's objects over the session's bytes", low["held"], "x bytes", 6.0)
        for where in ("file", "mirror"):
            rate = found["deltas"][where]
            yield self._of(f"deltas.{where}", f"text deltas into {_WHERE[where]}", rate, "deltas/s", 20_000)
        yield self._of("handback", "the slowest form of handing back", found["handback"]["rate"], "MB/s", 0.3)

    def pages(self) -> list[tuple[str, float, float, float, int, int]]:
        """Name, ms the first time, p50, p95, queries, kB."""
        return [
            (name, page["first"]["cpu"] * 1e3, *self._percentiles(page), page["queries"], page["bytes"] // 1000)
            for step in ("list", "long", "mirror")
            for name, page in self._found[step]["pages"].items()
        ]

    def _scan(self) -> Iterator[Figure]:
        found = self._found
        floor, scan = found["floor"], found["scan"]
        yield self._of("scan.cpu", "scan, processor", scan["cpu"] / floor["cpu"], "x floor", 5.0)
        yield self._of("scan.wall", "scan, by the clock", scan["wall"] / floor["wall"], "x floor", 3.0)
        yield self._of("scan.memory", "scan, memory", scan["memory"], "MB", 300)
        for key, work in _MEMORY.items():
            yield self._of(f"memory.{key}", work, found[key]["memory"], "MB", 300)

    def _mirror(self) -> Iterator[Figure]:
        mirror, clock = self._found["mirror"], self._clock
        copy, whole = self._found["copy"][clock], mirror["import"][clock]
        scanned = self._found["scan"]["cpu" if clock == "cpu" else "wall"]
        yield self._of("import.rows", "import: the rows", mirror["rows"][clock] / copy, "x copy", 2.0)
        yield self._of("import.whole", "import: rows and scan", whole / copy, "x copy", None)
        yield self._of("import.first", "import: the first session can be opened", mirror["first"], "s", 2.0)
        yield self._of("resync", "sync after one session changed", mirror["resync"][clock] / whole, "x import", 0.011)
        yield self._of("bulk", "repair all safe, 5 % damaged", mirror["bulk"][clock] / scanned, "x scan", 0.3)

    def _pages(self) -> Iterator[Figure]:
        lists = self._found["list"]["pages"]
        every = [one for page in lists.values() for one in page["cpu"]]
        worst = max(lists, key=lambda name: median(lists[name]["cpu"]))
        yield self._of("list", "list of 100,000 sessions: p95 of all", _p95(every) * 1e3, "ms", 100)
        slowest = median(lists[worst]["cpu"]) * 1e3
        yield self._of("list.worst", f"its slowest ({worst.removeprefix('list, ')}): p50", slowest, "ms", None)
        most = max(page["queries"] for page in lists.values())
        yield self._of("list.queries", "list: queries", most, "queries", 12)
        long = self._found["long"]["pages"]
        for key, (page, target) in _LONG.items():
            yield self._of(
                f"long.{key}", f"20,000 parts: {page}", median(_again(long[page], "cpu")) * 1e3, "ms", target
            )
        size = long["session, at its first fault"]["bytes"] / 1000
        yield self._of("long.bytes", "20,000 parts: that page", size, "kB", 300)
        preview = long["repair preview"]
        yield self._of("preview", "20,000 parts: repair preview", preview["first"]["cpu"], "s", 2.0)
        again = median(_again(preview, "cpu"))
        yield self._of("preview.again", "20,000 parts: repair preview again", again, "s", 0.2)
        for page, target in _ONCE.items():
            yield self._of(page, f"20,000 parts: {page}", long[page]["first"]["cpu"], "s", target)
        searches = [page for name, page in self._found["mirror"]["pages"].items() if name.startswith("search")]
        times = [one for page in searches for one in _again(page, "cpu")]
        yield self._of("search", "search inside all conversations: p95", _p95(times) * 1e3, "ms", 200)

    def _percentiles(self, page: dict[str, Any]) -> tuple[float, float]:
        times = _again(page, "cpu")
        return median(times) * 1e3, _p95(times) * 1e3

    def _of(self, key: str, work: str, value: float, unit: str, target: float | None) -> Figure:
        ratio = value
        if unit in _NORMAL:
            ratio = value * _NORMAL[unit] / self._floor
        elif unit.endswith("/s"):
            ratio = 1e6 / value / self._floor
        return Figure(key, work, value, unit, target, ratio)


_WHERE = {"file": "opencode's own file", "mirror": "the mirror"}
_MEMORY = {
    "scan80": "scan of one session of 80,000 parts, memory",
    "scan50": "scan of an output of 50 MB, memory",
    "lower80": "body of one session of 80,000 parts, memory",
    "export80": "export of one session of 80,000 parts, memory",
}
_LONG = {
    "fault": ("session, at its first fault", 200.0),
    "next": ("session, next fault", 100.0),
    "swap": ("session, a swap", 100.0),
}
_ONCE = {"markdown": 2.0, "payload": 0.5, "order, as sent": 0.5, "order, after the repair": 0.5}


def _again(page: dict[str, Any], clock: str) -> list[float]:
    """Times after the first; the first alone where it was asked for once."""
    return page[clock] or [page["first"][clock]]


def _p95(times: list[float]) -> float:
    return quantiles(times, n=20, method="inclusive")[-1] if len(times) > 1 else times[0]
