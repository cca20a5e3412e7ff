"""Settings come from the environment and say what is wrong with a value they cannot use."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.utils import timezone

from sessions_app import env
from sessions_app.secretkey import kept_key
from sessions_app.services.workers import worker_beat


def test_a_boolean_that_is_neither_yes_nor_no_is_named_with_its_value(monkeypatch):
    monkeypatch.setenv("SUTURE_HTTPS", "perhaps")

    with pytest.raises(ImproperlyConfigured, match="SUTURE_HTTPS='perhaps'"):
        env.boolean("SUTURE_HTTPS", False)


@pytest.mark.parametrize(("value", "expected"), [("on", True), ("0", False), ("", False), ("TRUE", True)])
def test_a_boolean_is_read_in_its_usual_spellings(monkeypatch, value, expected):
    monkeypatch.setenv("SUTURE_HTTPS", value)

    assert env.boolean("SUTURE_HTTPS", False) is expected


@pytest.mark.parametrize("value", ["ten", "-1", "1.5"])
def test_a_number_that_is_none_or_too_small_is_refused(monkeypatch, value):
    monkeypatch.setenv("SUTURE_UPLOAD_LIMIT", value)

    with pytest.raises(ImproperlyConfigured, match="SUTURE_UPLOAD_LIMIT"):
        env.integer("SUTURE_UPLOAD_LIMIT", 5)


def test_a_secret_can_come_from_a_file(monkeypatch, tmp_path):
    (tmp_path / "key").write_text("from the file\n")
    monkeypatch.setenv("SUTURE_SECRET_KEY_FILE", str(tmp_path / "key"))

    assert env.text("SUTURE_SECRET_KEY") == "from the file"


def test_a_value_and_a_file_together_are_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("SUTURE_SECRET_KEY", "a")
    monkeypatch.setenv("SUTURE_SECRET_KEY_FILE", str(tmp_path / "key"))

    with pytest.raises(ImproperlyConfigured, match="both set"):
        env.text("SUTURE_SECRET_KEY")


def test_a_relative_data_directory_is_refused(monkeypatch):
    monkeypatch.setenv("SUTURE_DATA_DIR", "here/data")

    with pytest.raises(ImproperlyConfigured, match="no absolute path"):
        env.data_directory()


def test_the_data_directory_follows_xdg(monkeypatch, tmp_path):
    monkeypatch.delenv("SUTURE_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    assert env.data_directory() == tmp_path / "suture"


def test_a_postgresql_url_becomes_a_database(monkeypatch):
    monkeypatch.setenv("SUTURE_DATABASE_URL", "postgresql://ann:p%40ss@db.example:5433/suture?sslmode=require")

    database = env.database("SUTURE_DATABASE_URL", sqlite={})

    assert database["ENGINE"] == "django.db.backends.postgresql"
    assert (database["USER"], database["PASSWORD"], database["HOST"], database["PORT"]) == (
        "ann",
        "p@ss",
        "db.example",
        "5433",
    )
    assert database["NAME"] == "suture"
    assert database["OPTIONS"] == {"sslmode": "require"}


@pytest.mark.parametrize("url", ["mysql://h/db", "postgresql://h", "postgresql://h:port/db"])
def test_a_database_url_that_cannot_work_is_refused(monkeypatch, url):
    monkeypatch.setenv("SUTURE_DATABASE_URL", url)

    with pytest.raises(ImproperlyConfigured, match="SUTURE_DATABASE_URL"):
        env.database("SUTURE_DATABASE_URL", sqlite={})


def test_the_signing_key_is_made_once_and_only_its_owner_reads_it(tmp_path):
    first = kept_key(tmp_path / "data")
    second = kept_key(tmp_path / "data")

    assert first == second
    assert len(first) >= 50
    assert stat.S_IMODE((tmp_path / "data" / "secret_key").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["secret_key"]


def test_a_bad_setting_ends_the_command_with_one_line_and_code_2(tmp_path):
    run = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "SUTURE_DATA_DIR": str(tmp_path), "SUTURE_DEBUG": "perhaps"},
        capture_output=True,
        text=True,
    )

    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.startswith("suture: SUTURE_DEBUG='perhaps'")
    assert "Traceback" not in run.stderr


def test_every_answer_carries_the_strict_content_policy():
    policy = Client().get("/healthz").headers["Content-Security-Policy"]

    assert dict(part.split(" ", 1) for part in policy.split("; ")) == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "font-src": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }


def test_a_host_that_is_not_loopback_is_refused():
    assert Client(headers={"host": "evil.example"}).get("/healthz").status_code == 400
    assert Client(headers={"host": "127.0.0.1:8000"}).get("/healthz").status_code == 200


@pytest.mark.django_db
def test_readyz_says_ready_when_the_tables_are_up_to_date():
    answer = Client().get("/readyz")

    assert answer.status_code == 200
    assert answer.json() == {"ready": True, "worker": False}


@pytest.mark.django_db
def test_readyz_says_that_a_worker_lives_for_half_a_minute_after_its_beat():
    worker_beat(worker_id="w1", now=timezone.now())
    assert Client().get("/readyz").json()["worker"] is True

    worker_beat(worker_id="w1", now=timezone.now() - timedelta(seconds=31))
    assert Client().get("/readyz").json()["worker"] is False
