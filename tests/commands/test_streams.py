"""Output that does not arrive, and streams that are closed: a line and an exit code, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import CORPUS

SUTURE = f'"{sys.executable}" -c "import sys; from sessions_app.entry import main; sys.exit(main())"'
BLOCKED = CORPUS / "dup_id_anthropic.db"
CLEAN = CORPUS / "clean.db"


def shell(line: str, data: Path) -> tuple[int, str, str]:
    """Exit code of the line's first program, stdout, stderr; output is buffered, as it is for people."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment = {**kept, "SUTURE_DATA_DIR": str(data)}
    done = subprocess.run(
        ["bash", "-c", f"{SUTURE} {line}; exit ${{PIPESTATUS[0]}}"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("given", ["--help", "--version", "scan --help", f"scan {CLEAN}", f"scan {CLEAN} --all --json"])
def test_output_that_finds_no_room_is_told_in_a_line(tmp_path: Path, given: str) -> None:
    assert shell(f"{given} > /dev/full", tmp_path) == (2, "", "suture: stdout: No space left on device\n")


@pytest.mark.parametrize(("given", "code"), [("--help", 0), (f"scan {CLEAN} --all", 0), (f"scan {BLOCKED}", 1)])
def test_a_reader_that_has_seen_enough_is_no_failure(tmp_path: Path, given: str, code: int) -> None:
    assert shell(f"{given} | true", tmp_path) == (code, "", "")


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        (f"scan {BLOCKED} >&-", 1, ""),
        (f"scan {BLOCKED} >&- 2>&-", 1, ""),
        ("scan - <&-", 2, "suture: stdin: The file is empty"),
        ("--version >&-", 0, ""),
    ],
)
def test_a_closed_stream_is_no_traceback(tmp_path: Path, given: str, code: int, words: str) -> None:
    done, _, told = shell(given, tmp_path)

    assert done == code
    assert told.startswith(words)
    assert "Traceback" not in told
