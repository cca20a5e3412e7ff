"""``python -m bench`` (``make bench``): every line of docs/benchmarks.md, measured and stored there.

``--compare`` stores nothing and tells what became over a quarter slower than what is stored, as ratios to the floor of
each run (exit code 1). ``--against PATH`` measures another working copy in the same run, in turn with this one.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench import results
from bench.running import Checkout
from bench.shaped import SIZES
from bench.steps import Files, Steps


def main() -> int:
    asked = _asked()
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        stores = asked.keep.resolve() if asked.keep else work
        stores.mkdir(parents=True, exist_ok=True)
        paths = {"now": results.ROOT} | ({"before": asked.against.resolve()} if asked.against else {})
        url = os.environ.get("SUTURE_DATABASE_URL", "")
        copies = {name: Checkout(path, work / name, url) for name, path in paths.items()}
        steps = Steps(Files(stores, asked.size), copies, rounds=1 if asked.size == "big" else 2)
        found = steps.run(lambda step: sys.stderr.write(f"  {step}\n"), asked.raw or work / "raw.json")
    database, size = "postgresql" if url else "sqlite", asked.size
    made = {
        name: results.result(found[name], database, size, asked.commit if name == "before" else results.commit_of(path))
        for name, path in paths.items()
    }
    now, before = made["now"], made.get("before")
    results.say([*results.described(now, before), "", *results.main_table(now, before), ""])
    results.say(results.page_table(now, before))
    return _compared(now) if asked.compare else _stored(now, before)


def _compared(now: results.Result) -> int:
    then = results.stored().get(results.key_of(now))
    if then is None:
        results.say([f"Nothing is stored for {results.key_of(now)}."])
        return 2
    told = results.slower(now, then)
    results.say(["", *[f"SLOWER: {line}" for line in told], f"{len(told)} figures are over a quarter slower."])
    return 1 if told else 0


def _stored(now: results.Result, before: results.Result | None) -> int:
    results.store(now, before)
    results.say(
        ["", f"Stored in {results.STORED.relative_to(results.ROOT)} and {results.PAGE.relative_to(results.ROOT)}."]
    )
    return 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=(__doc__ or "").split(":")[1].split("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="mid", help="220 MB; small only tries the benches themselves")
    parser.add_argument("--big", dest="size", action="store_const", const="big", help="a store of 1.1 GB")
    parser.add_argument("--against", type=Path, metavar="PATH", help="another working copy, measured in the same run")
    parser.add_argument("--commit", default="", help="what that one is called, where it is no working copy of git")
    parser.add_argument("--compare", action="store_true", help="tell what became slower than what is stored")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the stores there for the next run")
    parser.add_argument(
        "--raw", type=Path, metavar="FILE", help="keep every measurement there, to go on from after an end"
    )
    asked = parser.parse_args()
    if asked.against and not asked.commit:
        asked.commit = results.commit_of(asked.against)
    return asked


if __name__ == "__main__":
    raise SystemExit(main())
