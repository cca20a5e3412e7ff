"""One policy for secrets: who may not repair sees none, in no answer; who may is in the audit trail."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
import zipfile
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from sessions_app.domain.secrets import SECRET, masked, may_hold_secret
from sessions_app.models import AuditEntry, Part, Scope, Session
from sessions_app.services.access import token_create
from tests.factories.corpus import attached
from tests.factories.people import signed_in, superuser
from tests.paths import CORPUS

pytestmark = pytest.mark.django_db

KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc+/=\nDEFG\n-----END RSA PRIVATE KEY-----"
TOKEN = "sut_" + "a1B2" * 11
PLANTED = f"before\n{KEY} between\n{PEM}\nand {TOKEN}"


@pytest.fixture
def session(tmp_path: Path, data_dir: Path) -> Session:
    """A session whose every text holds keys."""
    path = tmp_path / "opencode.db"
    shutil.copyfile(CORPUS / "dup_id_slow.db", path)
    connection = sqlite3.connect(path)
    for key, data in connection.execute("SELECT id, data FROM part").fetchall():
        value = json.loads(data)
        if value["type"] == "text":
            value["text"] = PLANTED
        if value["type"] == "tool" and "output" in value.get("state", {}):
            value["state"]["output"] = PLANTED
            value["state"]["input"] = {KEY: {f"of_{KEY}": 1}}
        connection.execute("UPDATE part SET data = ? WHERE id = ?", (json.dumps(value), key))
    connection.execute("UPDATE session SET title = ?", (PLANTED,))
    connection.commit()
    connection.close()
    return Session.objects.get(source=attached(path))


def addresses(session: Session) -> list[str]:
    one = f"/api/v1/sessions/{session.pk}"
    part = Part.objects.filter(session=session, kind="text").first()
    assert part is not None
    return [
        f"{one}/timeline", f"{one}/payload", f"{one}/payload?canonical=true", f"{one}/export?as=rows", one,
        f"{one}/export?as=export", f"{one}/export?as=export&children=true", f"{one}/export?as=report",
        f"{one}/export?as=bundle", f"{one}/findings", "/api/v1/sessions", "/api/v1/payloads.ndjson",
        f"/parts/{part.pk}/?download=1", f"/parts/{part.pk}/", f"/sessions/{session.pk}/payload/?download=1",
        f"/sessions/{session.pk}/provider/payload", f"/sessions/{session.pk}/", f"/sessions/{session.pk}/raw/",
        f"/sessions/{session.pk}/markdown/", f"/sessions/{session.pk}/?print=1", "/sessions/", "/search/?text=between",
    ]  # fmt: skip


def got(client: Client, address: str) -> str:
    answer = client.get(address)
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    if content[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            content = b"".join(packed.read(name) for name in packed.namelist())
    assert answer.status_code in (200, 409), address
    return content.decode()


def viewer() -> User:
    made = User.objects.create_user("victor")
    made.user_permissions.add(Permission.objects.get(codename="view_session", content_type__app_label="sessions_app"))
    return made


def bearer(user: User, *scopes: Scope) -> Client:
    token = token_create(user=user, name="t", now=timezone.now(), scopes=scopes)[1]
    return Client(headers={"authorization": f"Bearer {token}"})


def test_who_may_not_repair_gets_no_key_in_any_answer(session: Session) -> None:
    login = signed_in(viewer())
    reading = bearer(superuser(), Scope.READ)
    for address in addresses(session):
        for who in (login, reading) if address.startswith("/api/") else (login,):
            text = got(who, address)
            for secret in (KEY[8:], "MIIabc", TOKEN[8:]):
                assert secret not in text, (address, secret)
    assert not AuditEntry.objects.filter(action="secret.read").exists()


def test_masked_json_is_still_json(session: Session) -> None:
    reading = bearer(superuser(), Scope.READ)
    one = f"/api/v1/sessions/{session.pk}"
    rows = json.loads(got(reading, f"{one}/export?as=rows"))
    texts = [json.loads(part["data"]) for message in rows["messages"] for part in message["parts"]]

    assert any("[masked," in text.get("text", "") for text in texts)
    assert json.loads(got(reading, f"{one}/payload"))
    assert json.loads(got(reading, f"{one}/export?as=export"))
    assert reading.get(f"{one}/payload")["X-Suture-Masked"] == "yes"
    assert "masked" in reading.get(f"{one}/export?as=rows")["X-Suture-Note"]


def test_forms_that_are_written_back_are_refused_to_who_may_not_see_keys(session: Session) -> None:
    reading, whole = bearer(superuser(), Scope.READ), bearer(User.objects.get(), Scope.READ, Scope.REPAIR)
    for form in ("database", "patch", "undo", "tree"):
        address = f"/api/v1/sessions/{session.pk}/export?as={form}"
        refused = reading.get(address)
        assert refused.status_code == 403
        assert "bundle" in refused.json()["detail"]
        given = whole.get(address)
        given.getvalue()  # to its end, which closes its file
        assert given.status_code == (200 if form != "tree" else 409)
    seeing = signed_in(viewer())
    page = seeing.get(f"/sessions/{session.pk}/handback/").html
    assert "as=rows" in page
    assert "as=database" not in page
    for form in ("database", "patch", "undo"):
        address = f"/api/v1/sources/{session.source_id}/export?as={form}"
        assert reading.get(address).status_code == 403
        answer = whole.get(address)
        answer.getvalue()  # to its end: closing it here would close the database connection of the test
        assert answer.status_code == 200
    assert "as=database" not in seeing.get(f"/sources/{session.source_id}/").html
    assert "as=database" in signed_in(User.objects.get(username="alice")).get(f"/sources/{session.source_id}/").html


@pytest.mark.parametrize("path", ["timeline", "payload", "export?as=rows"])
def test_who_may_repair_gets_what_is_stored_and_the_audit_trail_says_so(session: Session, path: str) -> None:
    repairer = bearer(superuser(), Scope.READ, Scope.REPAIR)

    assert KEY in got(repairer, f"/api/v1/sessions/{session.pk}/{path}")
    kept = AuditEntry.objects.exclude(action__in=("token.made", "source.attached", "source.synced")).get()
    assert (kept.action, kept.actor, kept.object_id) == (
        "export.made" if "export" in path else "secret.read", "alice", str(session.pk),
    )  # fmt: skip


def test_a_download_from_a_page_and_a_stream_are_in_the_audit_trail_too(session: Session) -> None:
    alice = superuser()
    for number, address in enumerate((addresses(session)[12], "/api/v1/payloads.ndjson"), 1):
        assert KEY in got(signed_in(alice), address)
        assert AuditEntry.objects.filter(action="secret.read").count() == number


@pytest.mark.parametrize(
    "planted", [KEY, PEM, TOKEN, f"x\n{KEY}\ty", PEM[:60], "https://u:p4ss@h/", f'"{KEY}"', f"of_{KEY}"]
)
def test_a_key_is_found_however_deep_in_json_it_lies_and_the_json_stays_whole(planted: str) -> None:
    text = planted
    for _ in range(3):
        assert SECRET.search(text)
        safe = masked(text)
        assert not SECRET.search(safe)
        text = json.dumps({"data": text, "after": "kept"})
        assert json.loads(masked(text))["after"] == "kept"


def admin_pages(session: Session) -> list[str]:
    part = Part.objects.filter(session=session, kind="text").first()
    assert part is not None
    return [
        f"/admin/sessions_app/part/{part.pk}/change/",
        f"/admin/sessions_app/session/{session.pk}/change/",
        "/admin/sessions_app/session/",
    ]


def test_the_admin_masks_for_staff_who_may_not_repair_and_keeps_who_saw_a_key(session: Session) -> None:
    looks = Permission.objects.filter(codename__startswith="view_", content_type__app_label="sessions_app")
    staff = User.objects.create_user("stan", password="stan", is_staff=True)
    staff.user_permissions.set(looks)
    login, alice = signed_in(staff), signed_in(superuser())
    action = {"action": "export_payloads", "_selected_action": [session.pk]}
    exported = login.post("/admin/sessions_app/session/", action)
    texts = [got(login, page) for page in admin_pages(session)] + [exported.getvalue().decode()]

    for text in texts:
        assert "[masked," in text
        for secret in (KEY[8:], "MIIabc", TOKEN[8:]):
            assert secret not in text
    assert not AuditEntry.objects.filter(action="secret.read").exists()

    for number, page in enumerate(admin_pages(session), 1):
        assert KEY in got(alice, page)
        kept = AuditEntry.objects.filter(action="secret.read", face="admin")
        assert kept.count() == number
        assert page in kept.latest("pk").data["what"]


@pytest.mark.parametrize(
    "key",
    [
        *(f"{kind}k{mark}" + "a1B2" * 8 for kind in "spr" for mark in "-_"),
        *(f"gh{kind}_" + "a1B2" * 8 for kind in "pousr"),
        *(f"{start}{'a1B2' * 10}" for start in ("github_pat_", "glpat-", "npm_", "hf_", "gsk_", "dop_v1_", "xai-")),
        *(f"xox{kind}-" + "a1B2" * 8 for kind in "abprs"),
        *(f"{start}{'A1B2' * 4}" for start in ("AKIA", "ASIA")),
        "AIza" + "a1B2" * 9,
        TOKEN,
        f"eyJ{'a1B2' * 4}.eyJ{'a1B2' * 4}.{'a1B2' * 4}",
        "https://ann:word@host",
        PEM,
        "Bearer " + "a1B2" * 8,
    ],
)
def test_every_kind_of_key_has_a_sign_by_which_it_is_looked_for(key: str) -> None:
    assert SECRET.search(key)
    assert may_hold_secret(key)
    assert masked(key) != key
