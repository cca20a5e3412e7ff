"""``make bench``: every bench in a process of its own, with the processor time and peak memory it took.

Exit code 1 where a figure that must be reached was missed (docs/benchmarks.md says which).
"""

from __future__ import annotations

import os
import sys
import time

BENCHES = ("lowering", "scanning", "stores", "importing", "pages", "handingback", "processor")


def main() -> int:
    asked = sys.argv[1:] or BENCHES
    unknown = [name for name in asked if name not in BENCHES]
    if unknown:
        sys.stderr.write(f"no bench named {', '.join(unknown)}; there are {', '.join(BENCHES)}\n")
        return 2
    missed = []
    for name in asked:
        print(f"== {name} ==", flush=True)
        if _run(name):
            missed.append(name)
    print(f"missed its figures: {', '.join(missed)}" if missed else "every figure was reached")
    return 1 if missed else 0


def _run(name: str) -> int:
    """The bench's exit code; prints what it cost."""
    started = time.perf_counter()
    child = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-m", f"bench.{name}"])
    _, status, used = os.wait4(child, 0)
    print(
        f"   ({name}: {time.perf_counter() - started:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processor time, "
        f"peak {used.ru_maxrss / 1024:,.0f} MB)\n",
        flush=True,
    )
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    raise SystemExit(main())
