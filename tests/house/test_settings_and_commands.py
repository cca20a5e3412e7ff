"""Every setting, command and option has its place in the docs, and nothing else has."""

from __future__ import annotations

import re
import shlex
from argparse import SUPPRESS, ArgumentParser
from functools import cache
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import get_commands

from sessions_app.management.catalog import COMMANDS, command, whole_parser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OURS = sorted(name for name, app in get_commands().items() if app == "sessions_app")
COMMON = {"help", "color", "no-color"}
"""Options that every command has; the page tells them once."""
EXAMPLE = re.compile(r"^\s*(?:\S+ \| )?suture (.+)$", re.MULTILINE)


@cache
def parsers() -> dict[str, ArgumentParser]:
    """Command -> its parser."""
    [commands] = [action.choices for action in whole_parser()._actions if isinstance(action.choices, dict)]
    return dict(commands)


def options(name: str) -> set[str]:
    """The options that a command tells, those of what it can be told to do among them."""
    own = parsers()[name]._actions
    inner = [parser for action in own if isinstance(action.choices, dict) for parser in action.choices.values()]
    return {
        option.removeprefix("--")
        for action in (*own, *(action for parser in inner for action in getattr(parser, "_actions", ())))
        for option in action.option_strings
        if option.startswith("--") and action.help != SUPPRESS
    }


def headings(page: str) -> list[str]:
    return re.findall(r"^## (\S+)$", (DOCS / page).read_text(), re.MULTILINE)


def test_every_setting_has_a_heading_and_every_heading_a_setting():
    read = set(re.findall(r'env\.\w+\(\s*"(SUTURE_\w+)"', (ROOT / "sessions_app" / "settings.py").read_text()))
    read |= set(re.findall(r'(?:directory|integer)\("(SUTURE_\w+)"', (ROOT / "sessions_app" / "env.py").read_text()))

    assert sorted(headings("settings.md")) == sorted(read)


@pytest.mark.parametrize("name", OURS)
def test_every_command_has_a_heading(name):
    assert name in headings("commands.md")


def test_every_heading_is_a_command():
    assert set(headings("commands.md")) <= set(OURS)


def test_the_catalog_has_every_command():
    assert sorted(COMMANDS) == OURS


def section(name: str) -> str:
    return (DOCS / "commands.md").read_text().split(f"## {name}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("name", [name for name in OURS if name not in ("dedupe", "drop")])
def test_the_section_of_a_command_has_its_options_and_no_others(name):
    told = set(re.findall(r"--([a-z][a-z-]+)", section(name)))
    everywhere = {option for other in OURS for option in options(other)}

    assert sorted(options(name) - COMMON - told) == []
    assert sorted(told - everywhere) == []
    (usage,) = re.findall(rf"^`suture {name}\b([^`]*)`", section(name), re.MULTILINE)[:1]
    assert sorted(set(re.findall(r"--([a-z][a-z-]+)", usage)) - options(name)) == []


@pytest.mark.parametrize("name", OURS)
def test_help_is_ours_alone_and_its_examples_can_be_run(name):
    told = parsers()[name].format_help()
    examples = getattr(command(name), "examples", ())

    for djangos in ("--settings", "--pythonpath", "--traceback", "--verbosity", "--force-color", "--skip-checks"):
        assert djangos not in told
    assert examples or name == "db_worker"
    assert [action.dest for action in parsers()[name]._actions if not action.help] == []
    for line, _ in examples:
        understood(line)


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.glob("*.md"))], ids=lambda page: page.name)
def test_the_command_lines_of_the_pages_can_be_run(page):
    for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        for line in EXAMPLE.findall(block):
            understood(f"suture {line}")


def understood(line: str) -> None:
    """Fails where the command line is none."""
    words = shlex.split(line, comments=True)
    words = [word.replace("BATCH", str(UUID(int=1))) for word in words[words.index("suture") + 1 :]]
    ends = [place for place, word in enumerate(words) if word in ("|", ">", "<", "&&", ";")]
    name, *rest = words[: min(ends, default=len(words))]
    if name not in parsers() and name in get_commands():
        return  # Django's own
    parsers()[name].parse_args(rest)
