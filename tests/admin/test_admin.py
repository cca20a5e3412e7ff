"""The admin: every table can be looked at, nothing can be typed over, actions go by way of the bulk page."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from sessions_app.domain.wish import Wish
from sessions_app.models import ApiToken, AuditEntry, Finding, Repair, RepairBatch, Session
from sessions_app.services.access import token_create
from sessions_app.services.actor import Actor
from sessions_app.services.bulk import PRESETS, Selection, bulk_start
from sessions_app.services.repair.apply import repair_apply
from sessions_app.tasks import job_enqueue
from tests.factories.corpus import session_of

pytestmark = pytest.mark.django_db

admin.autodiscover()  # as the urls do when the first page is asked for
MODELS = list(apps.get_app_config("sessions_app").get_models())


@pytest.fixture
def session(tmp_path: Path, data_dir: Path) -> Session:
    return session_of("dup_id_slow", tmp_path)


def listing(model: type) -> str:
    return reverse(f"admin:sessions_app_{model._meta.model_name}_changelist")


def act(visitor: Client, action: str, *sessions: Session):
    chosen = {"action": action, "_selected_action": [session.pk for session in sessions]}
    return visitor.post(listing(Session), chosen)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_table_is_listed_searched_and_shown_but_never_edited(
    visitor: Client, session: Session, model: type
) -> None:
    assert model in admin.site._registry, "every table is in the admin"

    assert visitor.get(listing(model)).status_code == 200
    assert visitor.get(f"{listing(model)}?q=x").status_code == 200
    assert visitor.get(f"{listing(model)}add/").status_code == (200 if model is ApiToken else 403)
    row = model._default_manager.first()
    if row is not None:
        page = reverse(f"admin:sessions_app_{model._meta.model_name}_change", args=(row.pk,))
        shown = visitor.get(page)
        assert shown.status_code == 200
        assert b'name="_save"' not in shown.content
        assert visitor.post(page, {"title": "typed over"}).status_code == 403


def test_sessions_are_filtered_by_rule_health_and_source(visitor: Client, session: Session, tmp_path: Path) -> None:
    sound = session_of("clean", tmp_path)

    def found(query: str) -> list[int]:
        return [row.pk for row in visitor.get(f"{listing(Session)}?{query}").context["cl"].result_list]

    assert found("rule=duplicate-call-id-in-message") == [session.pk]
    assert found("health=healthy") == [sound.pk]
    assert found(f"source__id__exact={sound.source_id}") == [sound.pk]


@pytest.mark.parametrize("preset", PRESETS)
def test_an_action_takes_the_selection_to_the_bulk_page(visitor: Client, session: Session, preset: str) -> None:
    response = act(visitor, preset.replace("-", "_"), session)

    assert response["location"].startswith("/bulk/?selection=")
    assert response["location"].endswith(f"&preset={preset}")
    page = visitor.get(response["location"])
    assert page.status_code == 200
    assert "1 chosen session" in page.content.decode()


def test_an_action_of_the_change_form_takes_that_one_session(visitor: Client, session: Session) -> None:
    page = reverse("admin:sessions_app_session_change", args=(session.pk,))

    response = visitor.post(page, {"CHANGE_FORM-action": "dedupe", "_selected_action": [session.pk]})

    assert response["location"].startswith("/bulk/?selection=")
    assert "1 chosen session" in visitor.get(response["location"]).content.decode()


def test_scan_again_scans(visitor: Client, session: Session) -> None:
    Session.objects.filter(pk=session.pk).update(health="not-scanned", scanned_at=None)

    act(visitor, "rescan", session)

    session.refresh_from_db()
    assert session.health == "blocked"


def test_export_payloads_gives_a_line_per_session(visitor: Client, session: Session) -> None:
    response = act(visitor, "export_payloads", session)

    [line] = b"".join(response.streaming_content).splitlines()
    assert json.loads(line)["session"] == session.stored_id


def test_without_the_repair_permission_there_is_no_repair_action(session: Session) -> None:
    carol = User.objects.create_user("carol", password="carol", is_staff=True)
    carol.user_permissions.add(Permission.objects.get(codename="view_session", content_type__app_label="sessions_app"))
    client = Client()
    client.force_login(carol)

    page = client.get(listing(Session)).content.decode()

    assert "Repair all safe findings" not in page
    assert "Export payloads" in page


def test_a_token_is_revoked_and_the_audit_trail_says_so(visitor: Client, alice: User) -> None:
    token_create(user=alice, name="laptop", now=timezone.now())
    token = ApiToken.objects.get()

    visitor.post(listing(ApiToken), {"action": "revoke", "_selected_action": [token.pk]})

    token.refresh_from_db()
    assert token.revoked_at is not None
    assert AuditEntry.objects.filter(action="token.revoked").exists()


def test_digests_of_tokens_are_not_shown(visitor: Client, alice: User) -> None:
    token_create(user=alice, name="laptop", now=timezone.now())
    token = ApiToken.objects.get()

    page = visitor.get(reverse("admin:sessions_app_apitoken_change", args=(token.pk,))).content.decode()

    assert token.digest not in page


def test_big_tables_are_not_counted_whole_and_their_long_columns_stay_where_they_are(
    visitor: Client, session: Session
) -> None:
    from sessions_app.models import Part

    with CaptureQueriesContext(
        connection,
    ) as queries:
        visitor.get(listing(Part))

    about_parts = [query["sql"] for query in queries if 'FROM "sessions_app_part"' in query["sql"]]
    counts = [sql for sql in about_parts if "COUNT(" in sql]
    assert counts and all("LIMIT" in sql for sql in counts)
    assert not any('"sessions_app_part"."data"' in sql for sql in about_parts)


def test_stored_times_are_dates(visitor: Client, session: Session) -> None:
    at = datetime.fromtimestamp((session.time_created or 0) / 1000, tz=UTC)

    page = visitor.get(reverse("admin:sessions_app_session_change", args=(session.pk,))).content.decode()

    assert f"{at:%Y-%m-%d %H:%M:%S} UTC" in page
    assert f">{session.time_created}<" not in page and page.count(">Created:<") == 1


@pytest.mark.parametrize("model", [model for model in MODELS if hasattr(model, "get_absolute_url")])
def test_a_row_leads_to_its_page_on_the_site(visitor: Client, repaired: Repair, model: type) -> None:
    row = model._default_manager.first()
    if row is None:
        pytest.skip("no row of it here")
    page = reverse(f"admin:sessions_app_{model._meta.model_name}_change", args=(row.pk,))
    site = reverse("admin:view_on_site", args=(ContentType.objects.get_for_model(model).pk, row.pk))

    assert f'href="{site}"' in visitor.get(page).content.decode()
    assert visitor.get(row.get_absolute_url()).status_code == 200


def test_the_site_leads_staff_to_the_row_and_nobody_else(visitor: Client, repaired: Repair) -> None:
    admins = reverse("admin:sessions_app_session_change", args=(repaired.session_id,))
    assert admins in visitor.get(f"/sessions/{repaired.session_id}/details/").content.decode()
    assert (
        reverse("admin:sessions_app_repair_change", args=(repaired.pk,))
        in visitor.get(f"/repairs/{repaired.public_id}/").content.decode()
    )

    User.objects.update(is_staff=False)
    assert admins not in visitor.get(f"/sessions/{repaired.session_id}/details/").content.decode()


@pytest.fixture
def repaired(session: Session) -> Repair:
    repair_apply(session=session, wish=Wish(), actor=Actor("alice"), now=timezone.now())
    return Repair.objects.get()


def test_undo_takes_a_repair_back_and_a_second_one_says_why_not(visitor: Client, repaired: Repair) -> None:
    chosen = {"action": "undo", "_selected_action": [repaired.pk]}

    done = visitor.post(listing(Repair), chosen, follow=True).content.decode()
    again = visitor.post(listing(Repair), chosen, follow=True).content.decode()

    repaired.refresh_from_db()
    assert repaired.state == "undone" and "1 taken back" in done
    assert Repair.objects.get(undoes=repaired).face == "admin"
    assert Session.objects.get(pk=repaired.session_id).health == "blocked"
    assert "only an applied one can be undone" in again


@pytest.mark.django_db(transaction=True)
def test_a_whole_batch_is_taken_back(visitor: Client, session: Session) -> None:
    batch = bulk_start(
        selection=Selection(ids=(session.pk,)), wish=Wish(), reason="", actor="alice", face="web", now=timezone.now()
    )
    job_enqueue(batch)
    assert Repair.objects.get().state == "applied"

    visitor.post(listing(RepairBatch), {"action": "undo", "_selected_action": [batch.pk]})

    batch.refresh_from_db()
    assert batch.state == "undone"
    assert Session.objects.get(pk=session.pk).health == "blocked"


def test_repairs_and_findings_are_filtered_by_rule_and_health(visitor: Client, repaired: Repair) -> None:
    def found(model: type, query: str) -> int:
        return len(visitor.get(f"{listing(model)}?{query}").context["cl"].result_list)

    assert found(Repair, "rule=duplicate-call-id-in-message") == 1
    assert found(Repair, "rule=stuck-tool") == 0
    assert found(Repair, "session__health__exact=blocked") == 0
    assert found(Finding, "session__health__exact=blocked") == 0


def test_without_the_repair_permission_nothing_is_taken_back(repaired: Repair) -> None:
    carol = User.objects.create_user("carol", password="carol", is_staff=True)
    carol.user_permissions.add(Permission.objects.get(codename="view_repair", content_type__app_label="sessions_app"))
    client = Client()
    client.force_login(carol)

    client.post(listing(Repair), {"action": "undo", "_selected_action": [repaired.pk]})

    repaired.refresh_from_db()
    assert repaired.state == "applied"
