"""Repairs over REST: plan, apply, undo; conflicts are refused and nothing is written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.test import Client

from sessions_app.models import Session
from tests.factories.corpus import session_of

pytestmark = pytest.mark.django_db


def rows(session: Session) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(session.source.path)) as connection:
        return connection.execute("SELECT * FROM part ORDER BY id").fetchall()


def post(api: Client, address: str, **body: object):
    return api.post(f"/api/v1/{address}", body, content_type="application/json")


@pytest.fixture
def session(tmp_path: Path, data_dir: Path) -> Session:
    return session_of("dup_id_slow", tmp_path)


def test_a_plan_writes_nothing_and_tells_the_verdict_before_and_after(api: Client, session: Session) -> None:
    before = rows(session)

    plan = post(api, f"sessions/{session.pk}/plan").json()

    assert rows(session) == before
    assert plan["before"]["accepted"] is False
    assert plan["after"]["accepted"] is True
    assert plan["operations"] and plan["changes"] and plan["rows_hash"]


def test_a_repair_changes_the_file_and_its_undo_brings_every_byte_back(api: Client, session: Session) -> None:
    before = rows(session)
    plan = post(api, f"sessions/{session.pk}/plan").json()

    repair = post(api, f"sessions/{session.pk}/repair", expected_hash=plan["rows_hash"], reason="ticket 7").json()
    repaired = rows(session)
    undo = post(api, f"repairs/{repair['id']}/undo").json()

    assert (repair["state"], repair["reason"], repair["actor"], repair["face"]) == (
        "applied",
        "ticket 7",
        "alice",
        "api",
    )
    assert repair["verification"]["health"] != "blocked"
    assert repaired != before
    assert undo["undoes"] == repair["id"]
    assert rows(session) == before
    assert api.get(f"/api/v1/repairs/{repair['id']}").json()["state"] == "undone"
    assert [item["id"] for item in api.get("/api/v1/repairs").json()["items"]] == [undo["id"], repair["id"]]


def test_a_repair_planned_for_other_rows_is_refused_and_writes_nothing(api: Client, session: Session) -> None:
    plan = post(api, f"sessions/{session.pk}/plan").json()
    with closing(sqlite3.connect(session.source.path)) as connection, connection:
        connection.execute("UPDATE part SET data = replace(data, 'echo two', 'echo 2')")
    changed = rows(session)

    response = post(api, f"sessions/{session.pk}/repair", expected_hash=plan["rows_hash"])

    assert response.status_code == 409
    assert response.json()["kind"] == "changed"
    assert rows(session) == changed


def test_a_repair_with_nothing_to_do_says_so(api: Client, tmp_path: Path) -> None:
    sound = session_of("clean", tmp_path)

    response = post(api, f"sessions/{sound.pk}/repair")

    assert (response.status_code, response.json()["kind"]) == (409, "nothing")


def test_dedupe_by_name_repairs_duplicates_only(api: Client, session: Session) -> None:
    repair = post(api, f"sessions/{session.pk}/dedupe").json()

    assert repair["rules"] == ["duplicate-call-id-in-message"]


def test_drop_by_name_finds_nothing_in_a_session_without_lost_thinking(api: Client, session: Session) -> None:
    assert post(api, f"sessions/{session.pk}/drop").json()["kind"] == "nothing"


def test_a_misspelt_option_is_refused(api: Client, session: Session) -> None:
    response = post(api, f"sessions/{session.pk}/repair", saftey="lossy")

    assert response.status_code == 422
    assert "saftey" in response.json()["detail"]


@pytest.mark.parametrize("what", ["plan", "repair"])
def test_a_rule_that_nobody_knows_is_refused_with_the_one_that_was_meant(
    api: Client, session: Session, what: str
) -> None:
    response = post(api, f"sessions/{session.pk}/{what}", rules=["duplicate-call-id"])

    assert response.status_code == 422
    assert "did you mean duplicate-call-id" in response.json()["detail"]


def test_a_plan_for_one_finding_is_for_that_one_alone(api: Client, session: Session) -> None:
    every = post(api, f"sessions/{session.pk}/plan", safety="lossy").json()["findings"]

    one = post(api, f"sessions/{session.pk}/plan", findings=every[:1]).json()

    assert one["findings"] == every[:1]


def test_a_repair_can_be_undone_once(api: Client, session: Session) -> None:
    repair = post(api, f"sessions/{session.pk}/repair").json()

    first, second = (post(api, f"repairs/{repair['id']}/undo") for _ in range(2))

    assert first.status_code == 200
    assert second.status_code == 409


def test_text_that_a_database_could_not_keep_is_refused_before_anything_is_done(api: Client, session: Session) -> None:
    before = rows(session)

    response = post(api, f"sessions/{session.pk}/repair", reason="half\x00a reason")

    assert response.status_code == 422
    assert rows(session) == before
    assert api.get("/api/v1/repairs/rep_%00").status_code == 422


def test_a_request_without_a_body_asks_for_what_an_empty_one_asks_for(api: Client, session: Session) -> None:
    plan = api.generic("POST", f"/api/v1/sessions/{session.pk}/plan")
    repair = api.generic("POST", f"/api/v1/sessions/{session.pk}/repair")
    undo = api.generic("POST", f"/api/v1/repairs/{repair.json()['id']}/undo")

    assert (plan.status_code, repair.status_code, undo.status_code) == (200, 200, 200)
    assert undo.json()["undoes"] == repair.json()["id"]


def test_a_caller_without_a_token_hears_how_to_send_one() -> None:
    refused = Client().get("/api/v1/sessions")

    assert refused.status_code == 401
    assert "Authorization: Bearer TOKEN" in refused.json()["detail"]
