"""What is handed back says for which repairs it was made, what is left, and whether it is still blocked."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from sessions_app.models import AuditEntry, Session, Source
from sessions_app.services.importing import import_run
from sessions_app.services.uploading import source_upload
from tests.factories.corpus import NOW, attached, copied
from tests.paths import DATA

from .sqlite import rows as all_rows
from .sqlite import run


@pytest.fixture
def lossy_only(tmp_path: Path) -> Path:
    """A database with one session, which only a lossy repair unblocks."""
    path = tmp_path / "customer" / "opencode.db"
    path.parent.mkdir()
    path.write_bytes(lzma.decompress((DATA / "reports" / "lossy-only-upload.db.xz").read_bytes()))
    return path


def uploaded(path: Path) -> Source:
    with path.open("rb") as file:
        source, job = source_upload(file=file, name=path.name, actor="ann", now=NOW)
    while import_run(job_id=job.pk, clock=timezone.now):
        pass
    return source


def rows(path: Path) -> dict[str, object]:
    return dict(all_rows(path, "session", "message", "part"))


def content(answer) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


@pytest.fixture
def admin(admin_client: Client) -> Client:
    return admin_client


@pytest.fixture
def session(data_dir: Path, lossy_only: Path) -> Session:
    return Session.objects.get(source=uploaded(lossy_only))


@pytest.mark.django_db
@pytest.mark.parametrize("form", ["database", "export", "rows", "report", "bundle"])
def test_a_form_that_is_still_blocked_says_so(admin: Client, session: Session, form: str) -> None:
    answer = admin.get(f"/api/v1/sessions/{session.pk}/export", {"as": form})

    assert content(answer)
    assert answer["Suture-Health"] == "blocked"
    assert "cannot be sent with thinking on" in answer["Suture-Left"]
    state = "blocked, as stored" if form in ("rows", "bundle") else "still blocked: needs a choice"
    assert state in answer["X-Suture-Note"]
    assert state in AuditEntry.objects.get(action="export.made").data["words"]


@pytest.mark.django_db
def test_a_copy_made_with_the_lossy_repair_is_healthy_and_names_it(
    admin: Client, session: Session, suture, tmp_path: Path
) -> None:
    answer = admin.get(f"/api/v1/sessions/{session.pk}/export", {"as": "database", "safety": "lossy"})
    copy = tmp_path / "copy.db"
    copy.write_bytes(content(answer))

    assert (answer["Suture-Health"], answer["Suture-Left"]) == ("healthy", "")
    assert "thinking-unsigned" in answer["Suture-Repairs"]
    assert suture("scan", copy, "--json").json["sessions"][0]["health"] == "healthy"


@pytest.mark.django_db
def test_after_a_repair_of_an_upload_patch_and_undo_are_for_the_file_as_it_was(
    admin: Client, session: Session, suture, lossy_only: Path
) -> None:
    owners = lossy_only
    before = rows(owners)
    repaired = admin.post(f"/api/v1/sessions/{session.pk}/repair", {"safety": "lossy"}, content_type="application/json")
    patch = admin.get(f"/api/v1/sessions/{session.pk}/export", {"as": "patch"})
    undo = admin.get(f"/api/v1/sessions/{session.pk}/export", {"as": "undo"})

    run(owners, content(patch).decode())
    health = suture("scan", owners, "--json").json["sessions"][0]["health"]
    changed = rows(owners)
    run(owners, content(undo).decode())

    assert repaired.status_code == 200
    assert (patch["Suture-Health"], undo["Suture-Health"]) == ("healthy", "blocked")
    assert "thinking-unsigned" in patch["Suture-Repairs"]
    assert health == "healthy" and changed != before
    assert rows(owners) == before


@pytest.mark.django_db
def test_a_repair_that_was_taken_back_is_in_no_patch(admin: Client, session: Session) -> None:
    made = admin.post(f"/api/v1/sessions/{session.pk}/repair", {"safety": "lossy"}, content_type="application/json")
    admin.post(f"/api/v1/repairs/{made.json()['id']}/undo", {}, content_type="application/json")

    answer = admin.get(f"/api/v1/sessions/{session.pk}/export", {"as": "patch"})

    assert (answer.status_code, answer.json()["kind"]) == (409, "nothing")


@pytest.mark.django_db
def test_the_page_says_in_words_what_is_in_each_form(admin: Client, session: Session) -> None:
    preselected = admin.get(f"/sessions/{session.pk}/handback/").content.decode()
    lossy = admin.get(f"/sessions/{session.pk}/handback/?level=lossy").content.decode()

    assert "Whoever gets these files still cannot go on" in preselected and "Blocked, as stored" in preselected
    assert "Healthy" in lossy and "Turn the calls and their results into text" in lossy
    assert "safety=lossy" in lossy and "as=patch" in lossy and "as=patch" not in preselected
    assert "cannot go on" not in lossy and "it would be empty" in preselected


@pytest.mark.django_db
def test_a_form_is_built_from_the_repairs_that_are_chosen(admin: Client, data_dir: Path, tmp_path: Path) -> None:
    found = Session.objects.get(source=attached(copied("dup_id_slow", tmp_path)))
    address = f"/api/v1/sessions/{found.pk}/export"

    other = admin.get(address, {"as": "database", "rule": "stuck-tool"})
    named = admin.get(address, {"as": "database", "rule": "duplicate-call-id-in-message"})
    left = admin.get(address, {"as": "database", "choice": "duplicate-call-id-in-message=none"})
    assert all(content(answer) for answer in (other, named, left))

    assert (other["Suture-Health"], other["Suture-Repairs"]) == ("blocked", "")
    assert (named["Suture-Health"], named["Suture-Repairs"]) == ("healthy", "duplicate-call-id-in-message")
    assert left["Suture-Health"] == "blocked"


@pytest.mark.django_db
def test_a_whole_source_goes_back_as_one_patch_or_one_copy(
    admin: Client, data_dir: Path, suture, tmp_path: Path
) -> None:
    source = uploaded(copied("dup_id_slow", tmp_path))
    owners = copied("dup_id_slow", tmp_path / "owner")
    before = rows(owners)
    for one in Session.objects.filter(source=source):
        assert admin.post(f"/api/v1/sessions/{one.pk}/repair", {}, content_type="application/json").status_code == 200
    address = f"/api/v1/sources/{source.pk}/export"

    patch, undo, copy = (admin.get(address, {"as": form}) for form in ("patch", "undo", "database"))
    whole = tmp_path / "whole.db"
    whole.write_bytes(content(copy))
    run(owners, content(patch).decode())
    patched = suture("scan", owners)
    run(owners, content(undo).decode())

    assert (patch["Suture-Health"], undo["Suture-Health"], copy["Suture-Health"]) == ("healthy", "blocked", "healthy")
    assert suture("scan", whole).code == patched.code == 0
    assert rows(owners) == before
    page = admin.get(f"/sources/{source.pk}/").content.decode()
    assert f"{address}?as=patch" in page


def test_the_command_says_it_on_stderr_and_by_its_exit_code(suture, tmp_path: Path, lossy_only: Path) -> None:
    path = lossy_only

    safe = suture("export", path, "--as", "database", "--output", tmp_path / "safe.db")
    lossy = suture("export", path, "--as", "database", "--safety", "lossy", "--output", tmp_path / "lossy.db")
    stored = suture("export", path, "--as", "rows")

    bundle = suture("export", path, "--as", "bundle")

    assert (safe.code, lossy.code, stored.code, bundle.code) == (1, 0, 1, 0)
    assert "its session is blocked, as stored" in bundle.err
    assert "No repair is in it; its session is still blocked: needs a choice" in safe.err
    assert "Made with the repairs of thinking-unsigned; its session is healthy" in lossy.err
    assert json.loads(stored.out)["session"]


def test_a_whole_file_is_handed_back_by_command(suture, tmp_path: Path) -> None:
    path = copied("dup_id_slow", tmp_path)

    made = suture("export", path, "--all", "--as", "database", "--output", tmp_path / "all.db")
    patch = suture("export", path, "--all", "--as", "patch")
    refused = suture("export", path, "--all", "--as", "rows")

    assert made.code == 0, made.err
    assert suture("scan", tmp_path / "all.db").code == 0
    assert "-- Made with the repairs of duplicate-call-id-in-message" in patch.out
    assert refused.code == 2
