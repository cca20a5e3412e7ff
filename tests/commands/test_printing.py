"""What people see: colours where there are some, tables that fit, the worst first, progress that leaves nothing."""

from __future__ import annotations

import io
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sessions_app import samples
from sessions_app.cli import main
from sessions_app.management import printing
from sessions_app.management.printing import Page, Toned

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch):
    """stdout and stderr are one terminal, as wide as is asked for; gives what it shows, a line each."""

    def run(*arguments: object, columns: int = 100, **environment: str) -> list[str]:
        screen = Terminal()
        with monkeypatch.context() as patched:
            patched.delenv("NO_COLOR", raising=False)
            patched.setattr("django.db.connections.close_all", lambda: None)
            for name, value in {"TERM": "xterm-256color", "COLUMNS": str(columns), **environment}.items():
                patched.setenv(name, value)
            patched.setattr(sys, "stdout", screen)
            patched.setattr(sys, "stderr", screen)
            main([str(argument) for argument in arguments])
        return screen.getvalue().splitlines()

    return run


def shown(lines: list[str]) -> list[str]:
    return [ESCAPE.sub("", line) for line in lines]


# colours


def test_a_terminal_gets_colours(terminal, poisoned):
    assert any("\x1b[1;31mBlocked" in line for line in terminal("scan", poisoned))


@pytest.mark.parametrize(
    ("options", "environment"),
    [((), {"NO_COLOR": "1"}), ((), {"TERM": "dumb"}), (("--no-color",), {}), (("--color", "never"), {})],
)
def test_whoever_wants_no_colours_gets_none(terminal, poisoned, options, environment):
    told = "\n".join(terminal("scan", poisoned, *options, **environment))

    assert "Blocked" in told
    assert "\x1b" not in told


def test_what_is_no_terminal_gets_colours_only_where_they_are_asked_for(suture, poisoned):
    assert "\x1b" not in suture("scan", poisoned).out
    assert "\x1b[1;31mBlocked" in suture("scan", poisoned, "--color", "always").out


def test_an_empty_no_color_says_nothing(terminal, poisoned):
    assert any("\x1b[" in line for line in terminal("scan", poisoned, NO_COLOR=""))


@pytest.mark.parametrize("form", ["--json", "--ndjson"])
def test_json_is_the_same_bytes_whoever_reads_it(terminal, suture, poisoned, form):
    piped = suture("scan", poisoned, form).out

    assert terminal("scan", poisoned, form, "--color", "always", columns=20) == piped.splitlines()


def test_stored_text_cannot_steer_a_terminal(terminal, poisoned):
    with sqlite3.connect(poisoned) as connection:
        connection.execute("UPDATE session SET title = ?", ("\x1b]0;owned\x07\x1b[2J[red]x[/red]\nnext",))
    connection.close()

    told = "\n".join(terminal("scan", poisoned))

    assert "\x1b]" not in told and "\x1b[2J" not in told and "\x07" not in told
    assert "[red]x[/red] next" in told


# tables


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_findings_fit_the_terminal_and_no_word_is_lost(terminal, poisoned, columns):
    lines = shown(terminal("scan", poisoned, columns=columns))
    table = [line for line in lines if line.startswith("  ")]

    assert max(map(len, table)) <= columns
    letters = "".join("".join(table).split())
    for word in ("tool_call_id", "blocked", "empty-message"):
        assert word in letters or columns == 40
    assert sum(map(str.isalpha, letters)) > 200


def test_a_wide_terminal_has_a_finding_a_line_and_a_narrow_one_more(terminal, poisoned):
    wide, narrow = (len(terminal("scan", poisoned, columns=columns)) for columns in (300, 50))

    assert narrow > wide


def test_off_a_terminal_a_row_is_one_line_whole(suture, poisoned):
    told = suture("scan", poisoned).out

    assert "  blocked  duplicate-call-id-in-message  Two tool parts share the call id functions.bash:0\n" in told


def test_a_head_is_for_terminals():
    piped, seen = Page(io.StringIO()), Page(Terminal(), "never")
    for page in (piped, seen):
        page.rows([("a", "b"), ("longer", Toned("b", "bad"))], head=("One", "Two"))

    assert piped.stream.getvalue() == "a  b\nlonger  b\n"
    assert seen.stream.getvalue() == "One     Two\na       b\nlonger  b\n"


# the worst first


def test_the_worst_is_first_and_the_healthy_are_counted(suture, tmp_path):
    database = samples.unpack(tmp_path)
    every = suture("scan", database, "--ndjson").lines
    rank = ["blocked", "unreadable", "at-risk", "healthy"]
    expected = sorted(every, key=lambda one: rank.index(one["health"]))
    healthy = sum(one["health"] == "healthy" for one in every)
    assert healthy and len({one["health"] for one in every}) > 2

    short, whole = suture("scan", database).out, suture("scan", database, "--all").out

    heads = re.compile(r"^(?:Blocked|Unreadable|At risk|Healthy) +(\S+)", re.MULTILINE)
    assert heads.findall(whole) == [one["id"] for one in expected]
    assert heads.findall(short) == [one["id"] for one in expected if one["health"] != "healthy"]
    assert f"{healthy} healthy; --all lists" in short
    assert f"{healthy} healthy\n" in whole


def test_a_healthy_session_that_is_named_is_listed(suture, tmp_path):
    database = samples.unpack(tmp_path)
    healthy = next(one["id"] for one in suture("scan", database, "--ndjson").lines if one["health"] == "healthy")

    assert f"Healthy     {healthy}" in suture("scan", database, "--session", healthy).out


# progress


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(printing, "_SILENT_SECONDS", 0.0)


def wait_for(screen: io.StringIO, text: str) -> None:
    end = time.monotonic() + 10
    while text not in screen.getvalue() and time.monotonic() < end:
        time.sleep(0.02)
    assert text in screen.getvalue()


def test_progress_is_shown_says_how_far_and_leaves_the_terminal_as_it_was(at_once):
    screen = Terminal()
    with Page(screen).progress("Scanning", 10) as meter:
        wait_for(screen, "Scanning")
        meter.at(4)
        wait_for(screen, "40%")

    assert screen.getvalue().rindex("\x1b[?25h") > screen.getvalue().rindex("\x1b[?25l")
    assert screen.getvalue().rstrip("\n").endswith(("\x1b[2K", "\x1b[?25h"))


def test_what_is_said_ends_the_progress_first(at_once):
    screen = Terminal()
    page = Page(screen, "never")
    with page.progress("Scanning") as meter:
        wait_for(screen, "Scanning")
        page.line("a message")
        said = screen.getvalue()
        meter.at(5)

    assert said.endswith("a message\n")
    assert screen.getvalue() == said


def test_what_takes_less_than_a_second_or_is_no_terminal_shows_nothing(monkeypatch):
    screen, pipe = Terminal(), io.StringIO()
    with Page(screen).progress("Scanning", 10) as meter:
        meter.at(10)
    monkeypatch.setattr(printing, "_SILENT_SECONDS", 0.0)
    with Page(pipe).progress("Scanning", 10) as meter:
        time.sleep(0.1)
        meter.at(10)

    assert (screen.getvalue(), pipe.getvalue()) == ("", "")


# stdin and errors


def test_stdin_is_called_stdin(suture, poisoned):
    refused = suture("scan", "-", stdin='{"x": 1}')
    read = suture("scan", "-", stdin=suture("export", poisoned, "--as-stored").out)

    assert refused.err.startswith("suture: stdin: ")
    assert read.out.startswith("stdin (rows: ")


@pytest.mark.parametrize("arguments", [("scan", "--bogus"), ("scan", "--color", "pink"), ("undo",)])
def test_bad_usage_is_a_line_that_says_where_help_is(suture, arguments):
    run = suture(*arguments)

    assert (run.code, run.out) == (2, "")
    assert re.fullmatch(rf"suture: .*suture {arguments[0]} --help tells the options\.\n", run.err)


# completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_options_and_rules(suture, shell):
    script = suture("completion", shell).out

    for word in ("bulk-repair", "fail-on", "duplicate-call-id-in-message"):
        assert word in script
    assert "pythonpath" not in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_what_was_typed(suture, tmp_path: Path):
    (tmp_path / "suture.bash").write_text(suture("completion", "bash").out)
    asked = (
        "source suture.bash; COMP_WORDS=(suture scan --fail-on bl); COMP_CWORD=3; _shtab_suture; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(["bash", "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["blocked"]
