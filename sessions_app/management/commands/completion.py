"""``suture completion``: what a shell needs to complete commands, options, rules and files."""

from __future__ import annotations

from argparse import Action, ArgumentParser
from typing import Any

import shtab

from sessions_app.domain.rules import REGISTRY
from sessions_app.management.base import SutureCommand
from sessions_app.management.catalog import whole_parser

_FILES = frozenset({"PATH", "FILE", "FILE.sql", "BACKUP", "DB", "OUT"})


class Command(SutureCommand):
    help = "Write the completion of these commands for a shell."
    examples = (
        ("suture completion bash > ~/.local/share/bash-completion/completions/suture", "for bash"),
        ("suture completion zsh > ~/.zfunc/_suture", "for zsh, where ~/.zfunc is in $fpath"),
        ("suture completion fish > ~/.config/fish/completions/suture.fish", "for fish"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")

    def run(self, *, shell: str, **options: Any) -> int:
        whole = whole_parser()
        for action in _actions(whole):
            if action.metavar in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]  # where shtab looks for it
            elif action.metavar == "DIR":
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
            elif action.metavar == "CODE":
                action.choices = sorted(REGISTRY)
        self.data(shtab.complete(whole, shell=shell))
        return 0


def _actions(parser: ArgumentParser) -> list[Action]:
    """Of the parser and of the commands in it."""
    found = list(parser._actions)
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for child in action.choices.values():
                found += _actions(child)
    return found
