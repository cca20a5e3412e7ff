"""Profiles of scan, import, session page and list: ``python -m bench.profiles --store after``."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench import results
from bench.running import Checkout
from bench.shaped import Shape
from bench.steps import Files

_SHAPES = {
    "scan": Shape(60, damaged=0.05),
    "import": Shape(60, damaged=0.05),
    "session page": Shape(0, long=(20_000,), faults=20),
    "list": Shape(60, damaged=0.3),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.profiles", description=__doc__)
    parser.add_argument("--against", type=Path, default=results.ROOT, metavar="PATH", help="another working copy's")
    parser.add_argument("--store", choices=("before", "after"), help="put them into docs/benchmarks.md")
    parser.add_argument("--commit", default="", help="what it is called, where it is no working copy of git")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        lines = _measured(Checkout(asked.against.resolve(), Path(folder) / "copy"), Files(Path(folder), "mid"))
    commit = asked.commit or results.commit_of(asked.against)
    lines = [f"### Profiles {asked.store or ''}: commit {commit}, ten functions by own time".replace("  ", " "), *lines]
    results.say(lines)
    if asked.store:
        results.put(f"profiles-{asked.store}", lines)
    return 0


def _measured(copy: Checkout, files: Files) -> list[str]:
    lines: list[str] = []
    for work, shape in _SHAPES.items():
        path = files.made(work.replace(" ", "-"), shape)
        with copy.emptied():
            found = copy.probe("profiled", work=work, path=str(path))
        rows = [[name, f"{share:.1f}", f"{calls:,}"] for share, calls, name in found["top"]]
        lines += ["", *results.markdown([f"{work} ({found['whole']:.1f} s under the profiler)", "%", "calls"], rows)]
    return lines


if __name__ == "__main__":
    raise SystemExit(main())
