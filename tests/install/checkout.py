"""A copy of this checkout, as a fresh clone has it: nothing built, nothing installed."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
UV = shutil.which("uv") or str(ROOT / ".venv-tools" / "bin" / "uv")
PARTS = (
    *("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "Makefile", ".python-version"),
    *("requirements.lock", "requirements-dev.lock", "sessions_app", "templates", "static"),
)


def checkout(folder: Path) -> Path:
    folder.mkdir()
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, folder / part)
    return folder
