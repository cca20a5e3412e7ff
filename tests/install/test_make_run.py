"""``make run`` on a fresh clone: what it installs, and what it tells of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .checkout import UV, checkout

pytestmark = pytest.mark.exhaustive


def make(folder: Path, *arguments: str) -> list[str]:
    """What it tells."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SUTURE_", "MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", f"UV={UV}", *arguments],
        cwd=folder,
        env={**kept, "HOME": str(folder.parent), "UV_CACHE_DIR": uv_cache()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def uv_cache() -> str:
    return subprocess.run([UV, "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()


def test_it_installs_what_running_needs_and_tells_each_step_in_a_line(tmp_path):
    folder = checkout(tmp_path / "clone")

    told = make(folder, "setup-run")

    assert told == ["Making .venv with Python 3.13", "Installing Suture and what running it needs into .venv"]
    sizes = [path.stat().st_size for path in (folder / ".venv").rglob("*") if path.is_file() and not path.is_symlink()]
    assert sum(sizes) < 80 * 1024**2
    assert not list((folder / ".venv").glob("lib/*/site-packages/pytest"))
    assert make(folder, "setup-run") == ["make: Nothing to be done for 'setup-run'."]
    assert make(folder, "run", "SERVE=--help")[0] == "Starting suture serve --help"


def test_the_editable_install_serves_the_pages_of_the_checkout(tmp_path):
    folder = checkout(tmp_path / "clone")
    make(folder, "setup-run")
    asked = "import django; django.setup(); from django.conf import settings; print(settings.PAGES_DIR)"

    done = subprocess.run(
        [folder / ".venv" / "bin" / "python", "-c", asked],
        cwd=tmp_path,
        env={"DJANGO_SETTINGS_MODULE": "sessions_app.settings", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == str(folder)
