"""The client's own configuration is read beside its file, defensively, and of nobody else's folders."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sessions_app import stores
from sessions_app.domain.dialects import decode
from sessions_app.domain.wire.target import infer_target
from sessions_app.stores.clientconfig import MAX_CONFIGURATION, configuration_beside
from tests.paths import CORPUS


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home with the client's database; its one session (model fake/fake-1) lies in ``project/inner``."""
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "OPENCODE_CONFIG", "OPENCODE_DB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in (".local/share/opencode", ".config/opencode", ".cache/opencode", "project/inner/.opencode"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copyfile(CORPUS / "clean.db", database(tmp_path))
    with closing(sqlite3.connect(database(tmp_path))) as connection, connection:
        connection.execute("UPDATE project SET worktree = ?", (str(tmp_path / "project"),))
        connection.execute("UPDATE session SET directory = ?", (str(tmp_path / "project" / "inner"),))
    return tmp_path


def database(home: Path) -> Path:
    return home / ".local" / "share" / "opencode" / "opencode.db"


def write(path: Path, **model: Any) -> None:
    provider = {"npm": "@ai-sdk/groq", "options": {"apiKey": "sk-secret"}, "models": {"fake-1": model}}
    path.write_text("// mine\n" + json.dumps({"provider": {"fake": provider}}))


def known(path: Path) -> Any:
    with stores.open_store(path) as store:
        [session] = store.session_ids()
        target = infer_target(decode(store.read(session)))
    assert target is not None
    return target


def test_the_users_configuration_makes_the_target(home: Path) -> None:
    assert known(database(home)).capabilities.by == ""
    write(home / ".config/opencode/opencode.jsonc", modalities={"input": ["text", "image"]}, interleaved="thoughts")
    target = known(database(home))
    assert (target.package, target.capabilities.input, target.capabilities.interleaved, target.capabilities.by) == (
        "@ai-sdk/groq",
        ("text", "image"),
        "thoughts",
        "configuration",
    )


@pytest.mark.parametrize(
    "place", ["project/opencode.json", "project/inner/opencode.jsonc", "project/inner/.opencode/opencode.json"]
)
def test_the_projects_configuration_goes_over_the_users(home: Path, place: str) -> None:
    write(home / ".config/opencode/opencode.json", modalities={"input": ["text", "image"]})
    write(home / place, modalities={"input": ["text", "pdf"]})
    assert known(database(home)).capabilities.input == ("text", "pdf")


def test_a_folder_above_the_project_is_not_looked_in(home: Path) -> None:
    write(home / "opencode.json", modalities={"input": ["text", "pdf"]})
    assert known(database(home)).capabilities.by == ""


def test_the_cached_list_of_models_is_read(home: Path) -> None:
    listed = {"fake": {"npm": "@ai-sdk/mistral", "models": {"fake-1": {"modalities": {"input": ["text", "audio"]}}}}}
    (home / ".cache/opencode/models.json").write_text(json.dumps(listed))
    target = known(database(home))
    assert (target.package, target.capabilities.input) == ("@ai-sdk/mistral", ("text", "audio"))


def test_another_users_home_gives_its_configuration_and_no_project(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for folder in (".local/share/opencode", ".config/opencode"):
        (other / folder).mkdir(parents=True)
    shutil.copyfile(database(home), database(other))
    write(home / "project/opencode.json", modalities={"input": ["text", "pdf"]})
    assert known(database(other)).capabilities.by == ""
    write(other / ".config/opencode/opencode.json", modalities={"input": ["text", "image"]})
    assert known(database(other)).capabilities.input == ("text", "image")


def test_a_file_that_lies_elsewhere_has_no_configuration(home: Path, tmp_path: Path) -> None:
    write(home / ".config/opencode/opencode.json", modalities={"input": ["text", "image"]})
    copy = shutil.copyfile(database(home), tmp_path / "copy.db")
    assert known(copy).capabilities.by == ""
    assert configuration_beside(copy) is None


def test_xdg_folders_are_followed(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere/opencode").mkdir(parents=True)
    write(tmp_path / "elsewhere/opencode/config.json", modalities={"input": ["text", "pdf"]})
    assert known(database(home)).capabilities.input == ("text", "pdf")


def hostile(path: Path, how: str) -> None:
    if how == "pipe":
        os.mkfifo(path)
    elif how == "folder":
        path.mkdir()
    elif how == "loop":
        path.symlink_to(path)
    elif how == "long":
        write(path, name="x" * MAX_CONFIGURATION, modalities={"input": ["text", "image"]})
    elif how == "deep":
        path.write_text("[" * 100_000)
    elif how == "bytes":
        path.write_bytes(b"\xff\xfe\x00")
    else:
        path.write_text('{"provider": ')


@pytest.mark.parametrize("how", ["pipe", "folder", "loop", "long", "deep", "bytes", "cut"])
def test_a_hostile_file_is_passed_over(home: Path, how: str) -> None:
    hostile(home / ".config/opencode/opencode.json", how)
    hostile(home / "project/opencode.json", how)
    hostile(home / ".cache/opencode/models.json", how)
    assert known(database(home)).capabilities.by == ""


@pytest.mark.parametrize("directory", ["relative", "/nowhere/\0x", 7, None, "/" + "x/" * 3000])
def test_a_session_that_names_no_folder_is_read_all_the_same(home: Path, directory: Any) -> None:
    with closing(sqlite3.connect(database(home))) as connection, connection:
        connection.execute("UPDATE session SET directory = ?", (directory if directory is not None else "",))
    assert known(database(home)).capabilities.by == ""
