"""The client's home and provider for each test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.opencode import Client, client, program
from tests.client.provider import Provider, provider


@pytest.fixture
def strict() -> Iterator[Provider]:
    """A strict provider on loopback."""
    with provider() as served:
        yield served


@pytest.fixture
def opencode(strict: Provider, tmp_path: Path) -> Client:
    """The real client, knowing the strict provider. In CI a missing client is a failure, not a skip."""
    if program() is None:
        message = "the real client is not installed: run `make client`"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return client(tmp_path, strict.url)
