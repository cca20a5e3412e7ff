"""Attaching what lies outside the allowed folders, over the page and the API, by every way round."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from django.test import Client

from sessions_app.models import Scope, Source
from tests.paths import CORPUS
from tests.security.test_roles import bearer

pytestmark = pytest.mark.django_db


@pytest.fixture
def allowed(tmp_path: Path, settings) -> Path:
    folder = tmp_path / "allowed"
    (folder / "sub").mkdir(parents=True)
    shutil.copyfile(CORPUS / "clean.db", folder / "inside.db")
    shutil.copyfile(CORPUS / "clean.db", tmp_path / "secret.db")
    (tmp_path / "allowed-not").mkdir()
    shutil.copyfile(CORPUS / "clean.db", tmp_path / "allowed-not" / "x.db")
    settings.SUTURE_ATTACH_ROOTS = [str(folder)]
    return folder


def ways(allowed: Path) -> list[str]:
    secret = allowed.parent / "secret.db"
    (allowed / "file-link.db").symlink_to(secret)
    (allowed / "folder-link").symlink_to(allowed.parent)
    (allowed / "chain").symlink_to(allowed / "folder-link")
    (allowed / "opencode").mkdir()
    (allowed / "opencode" / "opencode.db").symlink_to(secret)
    handle = os.open(secret, os.O_RDONLY)
    return [
        str(secret),
        f"{allowed}/../secret.db",
        f"{allowed}/sub/../../secret.db",
        f"{allowed}/./sub/.././../secret.db",
        f"{allowed}-not/x.db",
        str(allowed / "file-link.db"),
        str(allowed / "folder-link" / "secret.db"),
        str(allowed / "chain" / "secret.db"),
        str(allowed / "opencode"),
        f"/proc/self/fd/{handle}",
        f"/proc/self/root{secret}",
        f"/proc/self/cwd/{os.path.relpath(secret)}",
        f"/proc/{os.getpid()}/root{secret}",
        "/proc/self/environ",
        "/etc/passwd",
        "/dev/stdin",
        "secret.db",
        "../secret.db",
        "~root/opencode.db",
        "~nobody-of-this-name/x.db",
        "",
        "/",
        f"{secret}\0",
        f"file://{secret}",
    ]


def test_nothing_outside_is_attached_by_the_page(allowed: Path, visitor: Client) -> None:
    for path in ways(allowed):
        answer = visitor.post("/sources/attach", {"path": path})
        assert answer.status_code < 500 and not Source.objects.exists(), (path, answer.status_code)


def test_nothing_outside_is_attached_or_adopted_over_the_api(allowed: Path, alice) -> None:
    client = bearer(alice, *Scope)
    for path in ways(allowed):
        answer = client.post("/api/v1/sources", {"path": path}, content_type="application/json")
        assert 400 <= answer.status_code < 500, (path, answer.status_code, answer.content)
        assert not Source.objects.exists(), path


def test_what_is_inside_is_attached(allowed: Path, alice) -> None:
    client = bearer(alice, *Scope)
    (allowed / "own-link.db").symlink_to(allowed / "inside.db")
    answer = client.post("/api/v1/sources", {"path": str(allowed / "own-link.db")}, content_type="application/json")
    assert answer.status_code in (201, 202), answer.content
    assert Source.objects.get().path == str(allowed / "inside.db")
