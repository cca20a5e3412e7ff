"""Command lines in unkind surroundings: limits, missing rights, signals at a chosen moment."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PR_CAPBSET_DROP = 24
_OVER_PERMISSIONS = (1, 2, 3)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


def without_privileges() -> None:
    """To be run between fork and exec: root has to keep to permissions from then on, as everybody else does."""
    library = ctypes.CDLL(None)
    for capability in _OVER_PERMISSIONS:
        library.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def files_up_to(size: int) -> Callable[[], None]:
    """``ulimit -f`` in bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SUTURE_", "OPENCODE_"))}
    own = {"SUTURE_DATA_DIR": str(folder / "data"), "XDG_DATA_HOME": str(folder / "xdg"), "HOME": str(folder)}
    return {**kept, **own, "PYTHONPATH": str(ROOT), **more}


def suture(
    folder: Path,
    *arguments: object,
    before: Callable[[], None] | None = None,
    code: str = "",
    **more: str,
) -> Ended:
    """A command line in a process of its own, its data directory in ``folder``. ``code`` is run in that process before
    the command."""
    start = f"import sys\n{code}\nfrom sessions_app.cli import main\nsys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", start, *map(str, arguments)],
        env=environment(folder, **more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        cwd=folder,
        preexec_fn=before,
    )
    return Ended(done.returncode, done.stdout, done.stderr)
