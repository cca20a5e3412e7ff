"""Many sessions in one attached file, and who repairs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessions_app.models import Source
from tests.factories.corpus import attached

from .store import many


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Four sessions with a duplicate, two sound ones."""
    return many(tmp_path / "opencode.db", {"dup_id_slow": 4, "clean": 2})


@pytest.fixture
def source(db: None, path: Path, data_dir: Path) -> Source:
    return attached(path)
