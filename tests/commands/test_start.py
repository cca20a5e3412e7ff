"""How little a command on bare files needs to start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sessions_app.management.catalog import COMMANDS
from sessions_app.management.declared import DECLARED, SCOPES
from sessions_app.models import Scope

ROOT = Path(__file__).parents[2]

BARE = {
    "scan": ("scan", "{path}"),
    "scan --json": ("scan", "{path}", "--json"),
    "scan --help": ("scan", "--help"),
    "upgrade-check": ("upgrade-check", "{path}"),
    "weigh": ("weigh", "{path}"),
    "locate": ("locate", "{path}", "--error", "Duplicate value for 'tool_call_id'"),
    "lower": ("lower", "{path}", "--target", "openai-chat:fake/fake-1"),
    "repair": ("repair", "{path}"),
    "repair --dry-run": ("repair", "{path}", "--dry-run"),
    "dedupe --dry-run": ("dedupe", "{path}", "--dry-run"),
    "drop --dry-run": ("drop", "{path}", "--dry-run"),
    "undo": ("undo", "rep_none"),
    "restore": ("restore", "{path}", "{folder}/put-back.db"),
    "repairs": ("repairs",),
    "backups": ("backups",),
    "export": ("export", "{path}"),
    "export --as report": ("export", "{path}", "--as", "report"),
    "relink": ("relink", "{path}"),
    "adopt": ("adopt", "{path}", "--into", "{path}", "--dry-run"),
    "recover": ("recover", "{path}", "{folder}/saved.db"),
    "doctor": ("doctor", "{path}"),
    "slim": ("slim", "{path}"),
    "slim --in-place": ("slim", "{path}", "--in-place"),
    "completion": ("completion", "bash"),
    "serve --help": ("serve", "--help"),
    "token, mistyped": ("token", "create", "nightly", "--scoop", "read"),
    "--version": ("--version",),
    "--help": ("--help",),
}
HEAVY = {"django", "rich", "structlog", "ninja", "asyncio", "multiprocessing"}
"""Packages that a command on bare files has no use for, off a terminal and on a small file."""
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
    return [word.format(path=path, folder=path.parent) for word in BARE[name]]


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
    assert {name for name in modules if name.split(".")[0] in HEAVY} == set()


def test_every_command_on_bare_files_is_looked_at():
    assert {name for name, listed in COMMANDS.items() if listed.bare} <= {words[0] for words in BARE.values()}


def test_every_other_command_says_its_arguments_without_django():
    assert set(DECLARED) == {name for name, listed in COMMANDS.items() if not listed.bare}
    assert list(SCOPES) == Scope.values


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", BARE)
def test_no_bare_command_loads_django(poisoned, tmp_path, name):
    modules = loaded(tmp_path, *arguments(name, poisoned))

    assert {module for module in modules if module.split(".")[0] in HEAVY} == set()
    assert "sessions_app.settings" not in modules
