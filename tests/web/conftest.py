"""People, and a session that its provider refuses, in an attached file of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from sessions_app.models import Session, Source
from tests.factories.corpus import attached
from tests.factories.people import signed_in, superuser
from tests.paths import CORPUS

BLOCKED = "seed_kimi_abort@1.18.11"
"""Two tool parts share a call id in one message, and the provider refuses it."""


@pytest.fixture
def alice(db: None) -> Client:
    """She may do everything."""
    return signed_in(superuser())


@pytest.fixture
def victor(db: None) -> Client:
    """He may look, and change nothing."""
    user = User.objects.create_user("victor", password="victor")
    user.user_permissions.add(Permission.objects.get(codename="view_session", content_type__app_label="sessions_app"))
    return signed_in(user)


@pytest.fixture
def nobody(db: None) -> Client:
    """Signed in, with no permission at all."""
    return signed_in(User.objects.create_user("nora", password="nora"))


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[str], Path]:
    """A corpus database of this test's own."""

    def copy(name: str) -> Path:
        path = tmp_path / f"{name}.db"
        shutil.copyfile(CORPUS / f"{name}.db", path)
        return path

    return copy


@pytest.fixture
def source(copied: Callable[[str], Path], data_dir: Path, db: None) -> Source:
    return attached(copied(BLOCKED))


@pytest.fixture
def blocked(source: Source) -> Session:
    session: Session = Session.objects.get(source=source)
    assert session.health == "blocked"
    return session
