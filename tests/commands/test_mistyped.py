"""A name mistyped on the command line ends with exit code 2 and what was probably meant; nothing is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessions_app.management.catalog import COMMANDS as CATALOG
from tests.factories.corpus import copied

from .running import Suture

COMMANDS = [name for name in CATALOG if name not in ("db_worker", "completion")]  # the first is Django's


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_is_refused_by_every_command(suture: Suture, command: str) -> None:
    run = suture(command, *(("list",) if command == "token" else ()), "--verbositty", "1")

    assert (run.code, run.out) == (2, "")
    assert "--verbositty" in run.err or "required" in run.err


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("repair", "PATH", "--rule", "stuck-tol"), "stuck-tool"),
        (("repair", "PATH", "--safety", "losy"), "lossy"),
        (("repair", "PATH", "--dry-rum"), "--dry-run"),
        (("export", "PATH", "--rule", "stuck-tol"), "stuck-tool"),
        (("export", "PATH", "--as", "databse"), "database"),
        (("scan", "PATH", "--target", "openai-chatt"), "openai-chat"),
        (("scan", "PATH", "--fail-on", "bloked"), "blocked"),
        (("lower", "PATH", "--target", "gemni:a/b"), "gemini"),
        (("lower", "PATH", "--target", "gemini:a/b", "--canonicl"), "--canonical"),
    ],
)
def test_a_value_mistyped_is_told_with_the_one_that_was_meant(
    suture: Suture, tmp_path: Path, arguments: tuple[str, ...], meant: str
) -> None:
    path = copied("dup_id_slow", tmp_path)
    before = path.read_bytes()

    run = suture(*(path if word == "PATH" else word for word in arguments))

    assert (run.code, run.out) == (2, "")
    assert f"did you mean {meant}" in run.err
    assert path.read_bytes() == before


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("options", "meant"),
    [
        (("--rule", "stuck-tol"), "stuck-tool"),
        (("--filter", "health=bloked"), "blocked"),
        (("--filter", "helth=blocked"), "health"),
    ],
)
def test_a_bulk_repair_never_takes_a_misspelt_filter_for_everything(
    suture: Suture, options: tuple[str, ...], meant: str
) -> None:
    run = suture("bulk-repair", *options)

    assert (run.code, run.out) == (2, "")
    assert f"did you mean {meant}" in run.err


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            {"target": {"provider": "a", "model": "b"}, "as_storde": True},
            "as_storde is not known",
        ),
        ({"target": {"provider": "a", "model": "b", "thinkin": "on"}}, "target.thinkin is not known"),
    ],
)
def test_a_line_of_lower_says_what_it_does_not_know(suture: Suture, line: dict[str, object], told: str) -> None:
    run = suture("lower", "-", "--ndjson", stdin=json.dumps({"session": {"id": "ses_1"}, "messages": [], **line}))

    assert run.lines[0]["error"]["kind"] == "usage"
    assert told in run.lines[0]["error"]["message"]
