"""The bulk page: from the list's selection to the report, without JavaScript."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from sessions_app.models import RepairBatch, Session, Source
from sessions_app.web.batches import batch_lines
from sessions_app.web.jobs import pace
from tests.factories.people import folded

from .store import dump

pytestmark = pytest.mark.django_db(transaction=True)


def hidden(page: str, action: str) -> dict[str, list[str]]:
    """The hidden inputs of the form with this action."""
    form = re.search(rf'<form[^>]*action="{re.escape(action)}".*?</form>', page, re.DOTALL)
    assert form is not None
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form[0]):
        fields.setdefault(name, []).append(value)
    return fields


def test_all_that_match_are_repaired_by_filter_watched_reported_and_taken_back(
    visitor: Client, source: Source, path: Path
) -> None:
    before = dump(path)

    asked = visitor.post("/bulk/", {"scope": "all", "query": "health=blocked"})
    preview = visitor.get(asked["location"])
    started = visitor.post("/bulk/start/", {**hidden(preview.content.decode(), "/bulk/start/"), "reason": "ticket 9"})
    progress = visitor.get(started["location"])

    assert asked["location"] == "/bulk/?health=blocked"
    text = preview.content.decode()
    assert "Repair 4 sessions" in text and "duplicate-call-id-in-message" in text
    batch = RepairBatch.objects.get()
    assert (batch.filter, batch.reason, batch.actor) == ({"health": ["blocked"]}, "ticket 9", "alice")
    assert (batch.state, batch.repaired) == ("done", 4)
    assert "Undo all 4 repairs" in progress.content.decode()
    table = visitor.get(f"{started['location']}report.csv").content.decode()
    assert table.count("repaired") == 4
    assert len(visitor.get(f"{started['location']}report.json").json()["sessions"]) == 4

    visitor.post(f"{started['location']}undo/")
    batch.refresh_from_db()
    assert batch.state == "undone"
    assert dump(path) == before


def test_ticked_sessions_are_kept_under_a_key_and_only_they_are_repaired(visitor: Client, source: Source) -> None:
    first, second = Session.objects.filter(health="blocked").order_by("pk")[:2]

    asked = visitor.post("/bulk/", {"scope": "selected", "session": [first.pk, second.pk]})
    preview = visitor.get(asked["location"]).content.decode()
    visitor.post("/bulk/start/", hidden(preview, "/bulk/start/"))

    assert asked["location"].startswith("/bulk/?selection=")
    assert "2 chosen sessions" in preview
    assert sorted(RepairBatch.objects.get().session_ids) == [first.pk, second.pk]


def test_options_asked_for_are_the_options_started(visitor: Client, source: Source) -> None:
    preview = visitor.get(
        "/bulk/?health=blocked&safety=lossy&only=stuck-tool&only=empty-message&stop=1"
    ).content.decode()
    visitor.post("/bulk/start/", hidden(preview, "/bulk/start/"))

    options = RepairBatch.objects.get().options
    assert (options["safety"], options["rules"], options["stop_on_failure"], options["force"]) == (
        "lossy",
        ["stuck-tool", "empty-message"],
        True,
        False,
    )


def test_a_selection_that_is_not_kept_any_more_says_so(visitor: Client, source: Source) -> None:
    response = visitor.get("/bulk/?selection=gone")

    assert response.status_code == 404


def test_htmx_asks_for_the_progress_alone_and_stops_when_it_is_done(visitor: Client, source: Source) -> None:
    preview = visitor.get("/bulk/?health=blocked").content.decode()
    started = visitor.post("/bulk/start/", hidden(preview, "/bulk/start/"))

    response = visitor.get(started["location"], headers={"HX-Request": "true", "HX-Target": "progress"})

    assert response.status_code == 286
    assert folded(response.content.decode()).lstrip().startswith('<div id="progress"')
    assert "every 1s" not in response.content.decode()


def test_without_permission_nothing_is_previewed_or_started(source: Source) -> None:
    bob = User.objects.create_user("bob", password="bob")
    client = Client()
    client.force_login(bob)

    assert client.get("/bulk/").status_code == 403
    assert client.post("/bulk/start/", {}).status_code == 403
    assert not RepairBatch.objects.exists()


@pytest.mark.parametrize("address", ["/bulk/", "/bulk/?health=blocked&preset=drop"])
def test_the_page_holds_no_inline_script_or_style(visitor: Client, source: Source, address: str) -> None:
    page = visitor.get(address).content.decode()

    assert not re.search(r"<script(?![^>]* src=)|\sstyle=|\son[a-z]+=", page)


def test_the_history_leads_to_the_batch_and_back(visitor: Client, source: Source) -> None:
    asked = visitor.post("/bulk/", {"scope": "all", "query": f"source={source.pk}&health=blocked"})
    preview = visitor.get(asked["location"]).content.decode()
    started = visitor.post("/bulk/start/", hidden(preview, "/bulk/start/"))["location"]

    history = visitor.get("/repairs/")
    one = RepairBatch.objects.get().repairs.first()
    assert one is not None
    detail = visitor.get(f"/repairs/{one.public_id}/")

    assert source.name in preview
    assert history.status_code == detail.status_code == 200
    assert f'href="{started}"' in history.content.decode()
    assert f'href="{started}"' in detail.content.decode()


def test_what_failed_or_was_repaired_is_listed_before_what_had_nothing(visitor: Client, source: Source) -> None:
    asked = visitor.post("/bulk/", {"scope": "all", "query": ""})
    preview = visitor.get(asked["location"]).content.decode()
    started = visitor.post("/bulk/start/", hidden(preview, "/bulk/start/"))["location"]

    batch = RepairBatch.objects.get()
    batch.rows.filter(place=len(batch.results) - 1).update(outcome="failed")
    Session.objects.filter(pk=batch.results[1]["session"]).update(health="blocked")
    lines = batch_lines(batch, 100)

    assert [line.look.word for line in lines] == ["Failed", *["Repaired"] * 4, "Nothing to do"]
    assert lines[1].now is not None and lines[1].now.word == "Blocked"
    assert "Nothing to do" in visitor.get(started).content.decode()


def test_the_page_speaks_of_rules_by_name_and_of_places_in_words(visitor: Client, source: Source) -> None:
    page = visitor.get("/bulk/?health=blocked").content.decode()
    said = re.sub(r"<[^>]*>", " ", re.sub(r'<div class="diff-box".*?</div>', "", page, flags=re.DOTALL))

    assert "4 sessions: 4 will go on again" in said
    assert "Calls of one message that share an id" in said
    assert "duplicate-call-id-in-message" not in said
    assert not re.search(r"(?:prt|msg)_\w", said)
    assert 'href="/sessions/?health=blocked">Back to the list' in folded(page)


@pytest.mark.parametrize(
    ("since", "done", "seconds", "words"),
    [
        ("", 10, 60, ""),
        ("0@0", 40, 2, ""),
        ("0@0", 0, 60, ""),
        ("0@0", 100, 60, ""),
        ("0@0", 40, 10, "4 a second, less than a minute left"),
        ("10@0", 40, 60, "30 a minute, about 2 min left"),
        ("90@0", 40, 60, ""),
        ("x@y", 40, 60, ""),
    ],
)
def test_a_pace_is_told_once_it_is_known_from_what_the_page_saw(
    since: str, done: int, seconds: int, words: str
) -> None:
    told = pace(QueryDict(f"since={since}"), done, 100, datetime.fromtimestamp(seconds, tz=UTC))

    assert told.words == words
    assert told.since == (since if words or since == "0@0" else f"{done}@{seconds * 1000}")


def test_a_batch_that_runs_tells_how_far_it_is_and_asks_on_from_where_the_page_began(
    visitor: Client, source: Source
) -> None:
    batch = RepairBatch.objects.create(state="running", total=900, done=30, repaired=20, created_at=timezone.now())
    address = f"/bulk/{batch.public_id}/"

    first = visitor.get(address).content.decode()
    begun = int(timezone.now().timestamp() * 1000) - 10_000
    later = visitor.get(f"{address}?since=0@{begun}").content.decode()

    assert re.search(rf'hx-get="{address}\?since=30%40\d+"', folded(first))
    assert "30 of 900 sessions" in folded(first)
    assert "3 a second, about 5 min left" in later
    assert f"since=0%40{begun}" in later
