"""What every test runs in: a data directory of its own, tasks that run where they are enqueued, and how much is looked
at: ``--everything`` for all examples and entries (``make test-all``), else a fixed part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings

from sessions_app.kept import forget_all
from tests.commands.running import Suture
from tests.factories.people import signed_in, superuser

# Examples are few and the same on every run of CI; a slow machine is no failure. test-all draws many.
SLOW_MACHINE = [hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large]
PROFILE = hypothesis.settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=SLOW_MACHINE,
    derandomize="CI" in os.environ,
    print_blob=True,
)
hypothesis.settings.register_profile("default", PROFILE)
hypothesis.settings.register_profile("all", PROFILE, max_examples=600)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--everything", action="store_true", help="every golden and corpus entry, and many examples of each property"
    )


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.load_profile("all" if config.getoption("everything") else "default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A property is looked at with few examples in ``make test`` and with many in ``make test-all``."""
    for item in items:
        if item.get_closest_marker("hypothesis"):
            item.add_marker("partly")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How much was looked at, where it was a part."""
    counts = [
        f"{looked:5} of {known:5}  {report.nodeid}"
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        for key, (looked, known) in report.user_properties
        if key == "looked at"
    ]
    if counts:
        terminalreporter.section("looked at in part; make test-all looks at all")
        terminalreporter.write("\n".join([*sorted(counts), ""]))


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


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    """Databases of two tests have the same keys for different rows."""
    forget_all()


@pytest.fixture
def data_dir(tmp_path: Path, settings) -> Path:
    """A data directory that only this test sees."""
    directory = tmp_path / "data"
    directory.mkdir(mode=0o700)
    settings.SUTURE_DATA_DIR = directory
    return directory


@pytest.fixture
def suture(monkeypatch, capsys, data_dir) -> Suture:
    """Runs a command in this process, with a data directory of its own."""
    return Suture(monkeypatch, capsys)


@pytest.fixture
def alice(db: None) -> User:
    """She may do everything."""
    return superuser()


@pytest.fixture
def visitor(alice: User) -> Client:
    """Alice's browser."""
    return signed_in(alice)
