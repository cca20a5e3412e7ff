from __future__ import annotations

import pytest

from tests.commands.running import Suture


@pytest.fixture
def suture(monkeypatch, capsys, data_dir) -> Suture:
    """Runs a command with a data directory of its own."""
    return Suture(monkeypatch, capsys)
