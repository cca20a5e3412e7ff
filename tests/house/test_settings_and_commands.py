"""Every setting, command and option has its place in the docs, and nothing else has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OURS = sorted(name for name, app in get_commands().items() if app == "sessions_app")
COMMON = {
    "help",
    "version",
    "verbosity",
    "settings",
    "pythonpath",
    "traceback",
    "no-color",
    "force-color",
    "skip-checks",
}


def headings(page: str) -> list[str]:
    return re.findall(r"^## (\S+)$", (DOCS / page).read_text(), re.MULTILINE)


def test_every_setting_has_a_heading_and_every_heading_a_setting():
    read = set(re.findall(r'env\.\w+\(\s*"(SUTURE_\w+)"', (ROOT / "sessions_app" / "settings.py").read_text()))
    read |= set(re.findall(r'directory\("(SUTURE_\w+)"', (ROOT / "sessions_app" / "env.py").read_text()))

    assert sorted(headings("settings.md")) == sorted(read)


@pytest.mark.parametrize("name", OURS)
def test_every_command_has_a_heading(name):
    assert name in headings("commands.md")


def test_every_heading_is_a_command():
    assert set(headings("commands.md")) <= set(OURS)


@pytest.mark.parametrize("name", [name for name in OURS if name not in ("dedupe", "drop", "db_worker")])
def test_every_option_is_in_the_commands_section(name):
    parser = load_command_class("sessions_app", name).create_parser("suture", name)
    options = {
        option.lstrip("-") for action in parser._actions for option in action.option_strings if option.startswith("--")
    }
    page = (DOCS / "commands.md").read_text()
    section = page.split(f"## {name}\n")[1].split("\n## ")[0]

    missing = [option for option in sorted(options - COMMON) if f"--{option}" not in section]
    assert missing == []
