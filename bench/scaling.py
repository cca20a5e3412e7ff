"""What grows with the number of sessions: ``python -m bench.scaling`` (docs/scaling.md)."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

from bench import results
from bench.running import Checkout
from bench.shaped import Shape
from bench.steps import Files

MILLION = 1_000_000
PARTS = 200
"""Parts of a session, as ``bench.shaped`` makes them on average."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.scaling", description=(__doc__ or "").split(":")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[25_000, 50_000, 100_000, 200_000])
    parser.add_argument("--store", action="store_true", help="put the tables into docs/scaling.md")
    asked = parser.parse_args()
    url = os.environ.get("SUTURE_DATABASE_URL", "")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        path = Files(Path(folder), "mid").made("source", Shape(100, damaged=0.2))
        copy = Checkout(results.ROOT, Path(folder) / "copy", url)
        found: dict[int, dict[str, Any]] = {}
        for size in asked.sizes:
            with copy.emptied():
                found[size] = copy.probe("grown", path=str(path), sessions=size)
    lines = _lines(found, "PostgreSQL" if url else "SQLite")
    results.say(lines)
    if asked.store:
        results.put("grown-postgresql" if url else "grown-sqlite", lines, results.ROOT / "docs" / "scaling.md")
    return 0


def _lines(found: dict[int, dict[str, Any]], database: str) -> list[str]:
    on, last = results.machine(), found[max(found)]
    held = {name: size for name, size in sorted(last["tables"].items(), key=lambda one: -one[1]) if size >= 10}
    tables = [[name, f"{size:,.0f}", f"{size * PARTS * MILLION / 1e9:,.0f}"] for name, size in held.items()]
    pages = {name: [f"{one['pages'][name] * 1e3:,.0f}" for one in found.values()] for name in last["pages"]}
    growing = {
        **{f"{name}, ms": row for name, row in pages.items()},
        "counting anew, ms": [f"{one['recount']['cpu'] * 1e3:,.0f}" for one in found.values()],
    }
    return [
        f"### {database}: commit {results.commit_of(results.ROOT)}",
        "",
        f"{on['cpu']}, {on['cores']} cores, load {on['load']}, Python {on['python']}. Importing 100,000 parts takes"
        f" {last['import'] * 1e5:.1f} s of processor, listing 1,000 sessions {last['begin'] * 1e3:.2f} s; attaching"
        f" answers after {last['attach']:.2f} s, whatever there is; a session takes {last['listed']:,.0f} bytes in the"
        f" list; a batch keeps {last['report']:,.0f} characters of each.",
        "",
        *results.markdown(["what", *(f"{size:,}" for size in found)], [[name, *row] for name, row in growing.items()]),
        "",
        *results.markdown([f"table ({last['parts']:,} parts)", "bytes a part", "GB of a million"], tables),
    ]


if __name__ == "__main__":
    raise SystemExit(main())
