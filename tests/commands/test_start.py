"""How little a command on bare files needs to start."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT = 0.4
"""Seconds of processor time."""

BARE = {
    "scan": ("scan", "{path}"),
    "scan --json": ("scan", "{path}", "--json"),
    "scan --help": ("scan", "--help"),
    "locate": ("locate", "{path}", "--error", "Duplicate value for 'tool_call_id'"),
    "lower": ("lower", "{path}", "--target", "openai-chat:fake/fake-1"),
    "repair --dry-run": ("repair", "{path}", "--dry-run"),
    "dedupe --dry-run": ("dedupe", "{path}", "--dry-run"),
    "export": ("export", "{path}"),
    "relink": ("relink", "{path}"),
}
LOADED = """
import sys
from sessions_app.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
sys.stderr.write("\\n" + " ".join(sorted(sys.modules)))
"""


def arguments(name: str, path: Path) -> list[str]:
    return [word.format(path=path) for word in BARE[name]]


def loaded(tmp_path: Path, *words: str) -> set[str]:
    """The modules that a command line loads, off a terminal."""
    environment = {**os.environ, "SUTURE_DATA_DIR": str(tmp_path / "data")}
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


def test_a_scan_needs_no_django(poisoned, tmp_path):
    modules = loaded(tmp_path, "scan", str(poisoned))

    assert "sessions_app.domain.scan" in modules
    assert {name for name in modules if name.split(".")[0] in ("django", "rich", "structlog", "ninja")} == set()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", BARE)
def test_no_bare_command_sets_django_up(poisoned, tmp_path, name):
    modules = loaded(tmp_path, *arguments(name, poisoned))

    assert modules & {"django.db", "django.apps", "sessions_app.models", "sessions_app.settings", "rich"} == set()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", BARE)
def test_a_bare_command_takes_little_processor_time(poisoned, tmp_path, name):
    """As installed: modules are compiled once. The quickest of five runs, since other work slows the rest."""
    environment = {
        **os.environ,
        "SUTURE_DATA_DIR": str(tmp_path / "data"),
        "PYTHONPYCACHEPREFIX": str(tmp_path / "compiled"),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "sessions_app", *arguments(name, poisoned)]
    figures = []
    for _ in range(6):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        figures.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    assert min(figures[1:]) < LIMIT
