"""Ctrl-C while the program still loads: one line, exit code 130, no traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest

BEGIN = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Pressed:
    def find_spec(self, name, *more):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Pressed())
from sessions_app.entry import main
sys.argv = ["suture", *{arguments!r}]
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("sessions_app.cli", ["--version"]),
        ("sessions_app.domain", ["--version"]),
        ("sessions_app.management.catalog", ["--version"]),
        ("sessions_app.stopping", ["--version"]),
        ("sessions_app.management.lifeline", ["--version"]),
        ("sessions_app.management.commands.scan", ["scan", "nothing.db"]),
        ("sessions_app.stores.sqlite.store", ["scan", "nothing.db"]),
    ],
)
def test_ctrl_c_while_the_program_loads_is_one_line(module: str, arguments: list[str]) -> None:
    begin = BEGIN.format(module=module, arguments=arguments)
    run = subprocess.run([sys.executable, "-c", begin], capture_output=True, text=True, check=False)

    assert (run.returncode, run.stderr, run.stdout) == (130, "suture: stopped by SIGINT\n", "")
