"""What every test runs in: a data directory of its own, and tasks that run where they are enqueued."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import override_settings


@pytest.fixture(scope="session", autouse=True)
def _own_surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    immediate = {"default": {"BACKEND": "django.tasks.backends.immediate.ImmediateBackend", "QUEUES": ["default"]}}
    with override_settings(
        SUTURE_DATA_DIR=tmp_path_factory.mktemp("data"),
        TASKS=immediate,
        SECRET_KEY="a key for tests only, long enough to sign with",
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    ):
        yield


@pytest.fixture
def data_dir(tmp_path: Path, settings) -> Path:
    """A data directory that only this test sees."""
    directory = tmp_path / "data"
    directory.mkdir(mode=0o700)
    settings.SUTURE_DATA_DIR = directory
    return directory
