"""The real client still sends what was recorded, down every way to a provider (a small set of the recordings)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.client.opencode import MEASURED, VERSION, program
from tests.client.recorder import recordings
from tests.factories.ways import WAYS, recorded

pytestmark = [pytest.mark.client, pytest.mark.exhaustive]

SAMPLE = ("state-of-items", "state-of-signatures", "results-with-media", "files-of-the-user", "models-that-changed")
FETCHED = "@ai-sdk/deepseek"
"""A package that the client fetches anew, in whatever version is the newest."""


def test_the_client_sends_what_was_recorded(tmp_path: Path) -> None:
    if program() is None:
        message = f"client {VERSION} is not installed: run `make client CLIENT_VERSION={VERSION}`"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    tasks = [(name, session) for name, way in WAYS.items() if way.package != FETCHED for session in SAMPLE]

    made = list(recordings(tasks, tmp_path))

    changed = [
        f"{one['way']} {one['session']}"
        for one in made
        if one["sent"] != recorded()[one["way"], one["session"]]["sent"]
    ]
    assert len(made) == len(tasks)
    assert changed == []
    if VERSION == MEASURED:
        assert {one["client"] for one in made} == {MEASURED}
