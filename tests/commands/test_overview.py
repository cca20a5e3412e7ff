"""The console script itself: its overview, its version, and what is no command."""

from __future__ import annotations

import pytest

from sessions_app import __version__
from sessions_app.cli import main


@pytest.mark.parametrize("asked", [[], ["help"], ["--help"], ["-h"]])
def test_the_overview_names_every_command_of_ours_with_what_it_does(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    from django.core.management import get_commands

    assert main(asked) == 0
    out = capsys.readouterr().out

    ours = {name for name, app in get_commands().items() if app == "sessions_app"}
    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.startswith("  ")}
    assert set(lines) == ours
    assert all(lines.values())


def test_the_version_is_ours(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"suture {__version__}\n"


@pytest.mark.parametrize("asked", [["scna", "a.db"], ["help", "scna"]])
def test_what_is_no_command_is_bad_usage_and_the_nearest_is_named(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(asked) == 2
    captured = capsys.readouterr()
    assert "Did you mean scan?" in captured.err
    assert captured.out == ""
