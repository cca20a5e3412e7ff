from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.paths import CORPUS


@pytest.fixture
def poisoned(tmp_path) -> Path:
    """A database of the real client whose session the provider refuses."""
    return Path(shutil.copy(CORPUS / "dup_id_slow.db", tmp_path / "opencode.db"))


@pytest.fixture
def clean(tmp_path) -> Path:
    return Path(shutil.copy(CORPUS / "clean.db", tmp_path / "clean.db"))
