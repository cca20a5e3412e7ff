"""What is said by hand of a source's models: its sessions are judged again, and every face says so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from sessions_app.models import AuditEntry, Session, Source
from sessions_app.services.importing import import_run, source_attach, source_input_set
from sessions_app.services.reading import session_refresh
from sessions_app.services.scanning import stale_rescan
from tests.paths import CORPUS, REPORTS

pytestmark = pytest.mark.django_db


@pytest.fixture
def source(tmp_path: Path) -> Source:
    path = tmp_path / "heic.json"
    path.write_text((REPORTS / "media-type-heic.json").read_text())
    source, job = source_attach(path=path, actor="alice", now=timezone.now())
    while import_run(job_id=job.pk, clock=timezone.now):
        pass
    return source


def session() -> Session:
    return Session.objects.get()


def test_sessions_are_judged_again_and_the_word_is_kept(source: Source) -> None:
    assert session().health == "blocked"

    assert source_input_set(source=source, said="pdf", actor="alice", now=timezone.now())
    while stale_rescan(now=timezone.now()):
        pass

    found = session()
    assert found.health == "at-risk"
    assert found.target["capabilities"] == {"input": ["text", "pdf"], "interleaved": None, "by": "hand"}
    assert AuditEntry.objects.filter(action="source.input").count() == 1
    assert not source_input_set(source=source, said="text, pdf", actor="alice", now=timezone.now())
    with pytest.raises(ValueError, match="did you mean audio"):
        source_input_set(source=source, said="audo", actor="alice", now=timezone.now())


def test_a_changed_configuration_is_seen_when_a_session_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "OPENCODE_CONFIG", "OPENCODE_DB"):
        monkeypatch.delenv(name, raising=False)
    database = tmp_path / ".local/share/opencode/opencode.db"
    database.parent.mkdir(parents=True)
    shutil.copyfile(CORPUS / "clean.db", database)
    _, job = source_attach(path=database, actor="alice", now=timezone.now())
    while import_run(job_id=job.pk, clock=timezone.now):
        pass
    assert session().target["capabilities"]["by"] == ""
    assert not session_refresh(session=session(), now=timezone.now()).changed

    (tmp_path / ".config/opencode").mkdir(parents=True)
    provider = {"npm": "@ai-sdk/mistral", "options": {"apiKey": "sk-secret"}, "models": {"fake-1": {}}}
    (tmp_path / ".config/opencode/opencode.json").write_text(json.dumps({"provider": {"fake": provider}}))

    assert session_refresh(session=session(), now=timezone.now()).changed
    assert (session().target["package"], session().target["capabilities"]["by"]) == ("@ai-sdk/mistral", "configuration")
    assert "secret" not in json.dumps(session().known_models)
    assert not session_refresh(session=session(), now=timezone.now()).changed
    # The mirror alone says the same: a scan of new rules does not read the file.
    Session.objects.update(rules_version="")
    while stale_rescan(now=timezone.now()):
        pass
    assert session().target["package"] == "@ai-sdk/mistral"


def test_the_page_takes_it_and_says_it(source: Source, client: Client, alice: Any) -> None:
    client.force_login(alice)
    address = f"/sources/{source.pk}/"

    refused = client.post(f"{address}input/", {"input": "vidoe"}, follow=True)
    taken = client.post(f"{address}input/", {"input": "text,pdf"}, follow=True)

    assert "did you mean video" in refused.content.decode()
    assert "text,pdf" in taken.content.decode()
    page = client.get(f"/sessions/{session().pk}/payload/", follow=True).content.decode()
    assert "reads text, pdf, as the store’s setting says" in " ".join(page.split())


def test_the_api_takes_it_and_says_it(source: Source, client: Client, alice: Any) -> None:
    client.force_login(alice)
    address = f"/api/v1/sources/{source.pk}"

    refused = client.patch(address, {"input": "vidoe"}, content_type="application/json")
    taken = client.patch(address, {"input": "text,pdf"}, content_type="application/json")

    assert (refused.status_code, taken.status_code, taken.json()["input"]) == (422, 200, "text,pdf")
    target = client.get(f"/api/v1/sessions/{session().pk}").json()["target"]
    assert target["capabilities"]["by"] == "hand"
    assert target["package"] == "@ai-sdk/anthropic"
