"""A client that is generated from the document repairs a session against a running server."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app.models import Session
from sessions_app.services.access import token_create
from tests.factories.corpus import session_of

from .openapi import COMMITTED

pytestmark = pytest.mark.exhaustive

QUIET = "post_hooks: []\n"
LEFT_OUT = {"GET /api/v1/payloads.ndjson"}
"""A stream of lines, which the generator has no kind of answer for: its operation is there, its answer is raw."""


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the client's package; everything in the document is in it."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "config.yml").write_text(QUIET)
    program = Path(sys.executable).with_name("openapi-python-client")
    made = subprocess.run(
        [program, "generate", "--path", COMMITTED, "--output-path", folder / "out", "--config", folder / "config.yml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    warned = {
        line.partition("parsing ")[2].partition(" within")[0]
        for line in (made.stdout + made.stderr).splitlines()
        if line.startswith("WARNING")
    }
    assert warned == LEFT_OUT, made.stdout
    return folder / "out"


@pytest.mark.django_db(transaction=True)
def test_a_generated_client_plans_repairs_and_takes_back(
    generated: Path, live_server, alice: User, tmp_path: Path, monkeypatch
) -> None:
    session = session_of("dup_id_slow", tmp_path)
    token = token_create(user=alice, name="generated", now=timezone.now())[1]
    monkeypatch.syspath_prepend(str(generated))
    package = importlib.import_module("suture_client")
    calls = {
        name: importlib.import_module(f"suture_client.api.{tag}.{name}")
        for tag, name in (
            ("sessions", "list_sessions"),
            ("repairs", "plan_repair"),
            ("repairs", "repair_session"),
            ("repairs", "undo_repair"),
        )
    }
    bodies = importlib.import_module("suture_client.models")

    with package.AuthenticatedClient(base_url=live_server.url, token=token) as client:
        listed = calls["list_sessions"].sync(client=client, health=[bodies.ListSessionsHealthItem.BLOCKED])
        [blocked] = listed.items
        plan = calls["plan_repair"].sync(sid=blocked.id, client=client, body=bodies.RepairIn())
        wanted = bodies.RepairApplyIn(expected_hash=plan.rows_hash, reason="generated")
        repair = calls["repair_session"].sync(sid=blocked.id, client=client, body=wanted)
        refused = calls["repair_session"].sync(
            sid=blocked.id, client=client, body=bodies.RepairApplyIn(rules=["stuck-tol"])
        )
        repaired = Session.objects.get(pk=session.pk).health
        undo = calls["undo_repair"].sync(rid=repair.id, client=client, body=bodies.UndoIn())

    assert blocked.id == session.pk
    assert (plan.before.accepted, plan.after.accepted) == (False, True)
    assert (repair.state, repair.reason) == ("applied", "generated")
    assert repaired != "blocked"
    assert "did you mean" in refused.detail
    assert undo.undoes == repair.id
