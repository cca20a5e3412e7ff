"""What is measured, step by step, of one working copy or of two in turn."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import floor
from bench.running import Checkout, Cost
from bench.shaped import SIZES, Shape, make_shaped


@dataclass(frozen=True, slots=True)
class Extent:
    """Parts of a long session and of the longest, characters of an output, sessions of the list."""

    long: int = 20_000
    longest: int = 80_000
    output: int = 50_000_000
    listed: int = 100_000


EXTENTS = {"small": Extent(1_000, 2_000, 500_000, 2_000)}
"""Where a size has others: the small one tries the benches themselves."""


@dataclass(frozen=True, slots=True)
class Files:
    """The stores, made where they are not there yet; nobody writes to them."""

    folder: Path
    size: str

    @property
    def extent(self) -> Extent:
        return EXTENTS.get(self.size, Extent())

    def made(self, name: str, shape: Shape) -> Path:
        path = self.folder / f"{name}.db"
        if not path.exists():
            make_shaped(path.with_suffix(".making"), shape)
            path.with_suffix(".making").rename(path)
        return path

    @property
    def whole(self) -> Path:
        return self.made(self.size, Shape(SIZES[self.size], damaged=0.05))

    @property
    def small(self) -> Path:
        return self.made("few", Shape(3, damaged=0.4))

    @property
    def seeds(self) -> Path:
        return self.made("seeds", Shape(60, damaged=0.3))

    @property
    def long(self) -> Path:
        return self.made("long", Shape(0, long=(self.extent.long,), faults=20))

    @property
    def longest(self) -> Path:
        return self.made("longest", Shape(0, long=(self.extent.longest,)))

    @property
    def output(self) -> Path:
        return self.made("output", Shape(0, outputs=(self.extent.output,)))


class Steps:
    """``rounds``: how often a command is run, of which the least counts."""

    def __init__(self, files: Files, checkouts: Mapping[str, Checkout], rounds: int) -> None:
        self._files, self._checkouts, self._rounds = files, checkouts, rounds
        self.steps: dict[str, Callable[[Checkout], dict[str, Any]]] = {
            "scan": self._command("scan", lambda: files.whole),
            "scan80": self._command("scan", lambda: files.longest, rounds=1),
            "scan50": self._command("scan", lambda: files.output, rounds=1),
            "lower80": self._command("lower", lambda: files.longest, "--target", "anthropic-messages", rounds=1),
            "export80": self._command("export", lambda: files.longest, "--as", "rows", rounds=1),
            "start": self._command("scan", lambda: files.small, rounds=5),
            "mirror": lambda copy: copy.probe("mirror", path=str(files.whole)),
            "list": lambda copy: copy.probe("listpages", path=str(files.seeds), sessions=files.extent.listed),
            "long": lambda copy: copy.probe("longsession", path=str(files.long)),
            "lowering": lambda copy: copy.probe("lowering"),
            "deltas": lambda copy: copy.probe("deltas"),
            "handback": self._handback,
        }

    def run(self, said: Callable[[str], object], kept: Path) -> dict[str, dict[str, Any]]:
        """By working copy: what each step gave, with the floors beside it. It is written to ``kept`` after each step,
        and what is there already is not measured again."""
        found: dict[str, dict[str, Any]] = json.loads(kept.read_text()) if kept.exists() else {}
        for step, measure in {"floor": self._floor, "copy": self._copied, **self.steps}.items():
            for name, copy in self._checkouts.items():
                if step in found.setdefault(name, {}):
                    continue
                said(f"{step} ({name})" if len(self._checkouts) > 1 else step)
                with copy.emptied():
                    found[name][step] = measure(copy)
                kept.write_text(json.dumps(found))
        again = self._floor(None)
        for one in found.values():  # the machine may be less busy now
            one["floor"] = {part: min(cost, again[part]) for part, cost in one["floor"].items()}
        return found

    def _floor(self, _: Checkout | None) -> dict[str, Any]:
        return asdict(floor.reading(self._files.whole))

    def _copied(self, copy: Checkout) -> dict[str, Any]:
        whole, postgres = self._files.whole, copy.database
        return asdict(
            floor.copying_postgres(whole, postgres) if postgres else floor.copying(whole, copy.folder / "copied.db")
        )

    def _command(
        self, command: str, path: Callable[[], Path], *more: str, rounds: int = 0
    ) -> Callable[[Checkout], dict[str, Any]]:
        form = ("--ndjson",) if command == "scan" else ()

        def measure(copy: Checkout) -> dict[str, Any]:
            costs = [copy.command(command, str(path()), *form, *more) for _ in range(rounds or self._rounds)]
            return asdict(_least(costs))

        return measure

    def _handback(self, copy: Checkout) -> dict[str, Any]:
        own = copy.folder / "own.db"
        shutil.copyfile(self._files.long, own)
        return copy.probe("handingback", path=str(own))


def _least(costs: list[Cost]) -> Cost:
    return Cost(min(one.cpu for one in costs), min(one.wall for one in costs), max(one.memory for one in costs))
