"""What a session weighs: on its page and over REST out of the mirror's columns, by the command out of the file."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from sessions_app.domain import dialects
from sessions_app.domain.weight import BARS, HEAVY, named, session_pieces, weigh
from sessions_app.models import Session
from sessions_app.selectors.rows import session_rows
from sessions_app.selectors.weight import session_weight
from tests.commands.running import Suture
from tests.factories.bigstore import make_store
from tests.factories.corpus import attached, session_of
from tests.factories.people import signed_in, superuser
from tests.factories.v2files import stores, written

pytestmark = pytest.mark.django_db

OUTPUT = 300_000


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A session of three turns whose second holds most of it: a huge output and a huge patch."""
    path = tmp_path / "opencode.db"
    make_store(path, sessions=1, turns=3)
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        parts = file.execute("SELECT id, data FROM part ORDER BY time_created, id").fetchall()
        calls = [(key, json.loads(data)) for key, data in parts if json.loads(data)["type"] == "tool"]
        key, call = calls[1]
        call["state"]["output"] = "o" * HEAVY
        file.execute("UPDATE part SET data = ? WHERE id = ?", (json.dumps(call, separators=(",", ":")), key))
        users = file.execute("SELECT id, data FROM message ORDER BY time_created, id").fetchall()
        key, user = [(key, json.loads(data)) for key, data in users if json.loads(data)["role"] == "user"][1]
        user["summary"] = {"diffs": [{"file": "a.js", "patch": "+" * OUTPUT, "additions": 1, "deletions": 0}]}
        file.execute("UPDATE message SET data = ? WHERE id = ?", (json.dumps(user, separators=(",", ":")), key))
    return path


@pytest.fixture
def heavy(store: Path, data_dir: Path) -> Session:
    return Session.objects.get(source=attached(store))


def details(client: Client, session: Session) -> str:
    return client.get(f"/sessions/{session.pk}/details/").content.decode()


def test_the_details_say_what_is_heavy_where_and_what_can_be_taken_out(heavy: Session) -> None:
    page = details(signed_in(superuser()), heavy)
    card = page[page.index('id="weight-heading"') :]

    assert "Heavy: 15.6 MB, of it 15.3 MB in 1 tool call." in card
    assert "Turn 2: tool calls and their outputs 15.3 MB, patches kept with prompts 293." in card
    assert re.search(r'href="/sessions/\d+/\?at=prt_\w+#at-prt_\w+"\s*>bash call, turn 2<', card)
    assert "Keep head and tail of each output that is too big to be sent" in card
    assert "Drop the texts of whole patches" in card
    assert "Go on in a new session" in card
    assert f'href="/sessions/{heavy.pk}/details/#weight-heading">heavy</a>' in page


def test_the_preview_it_leads_to_takes_that_out_and_is_asked_for(heavy: Session) -> None:
    client = signed_in(superuser())
    card = details(client, heavy).partition('id="weight-heading"')[2]
    links = [link.replace("&amp;", "&") for link in re.findall(r'button-small" href="([^"]+)"', card)]

    preview = client.get(next(link for link in links if "huge-output" in link)).content.decode()

    assert "cut by Suture" in preview
    assert re.search(r'value="truncate"[^>]*(checked|selected)', preview)


def test_who_may_only_look_sees_the_sizes_and_no_way_to_change_them(heavy: Session, victor: Client) -> None:
    card = details(victor, heavy).partition('id="weight-heading"')[2]

    assert "Heavy: 15.6 MB" in card
    assert "Preview" not in card


def test_an_ordinary_session_is_not_called_heavy(tmp_path: Path, data_dir: Path) -> None:
    session = session_of("clean", tmp_path)
    page = details(signed_in(superuser()), session)

    assert "What it weighs" in page
    assert "The heaviest" not in page
    assert "Heavy" not in page and ">heavy<" not in page and "What can be taken out" not in page


@pytest.mark.parametrize("name", ["seed_kimi_abort@1.18.11", "clean", "compact_killed"])
def test_the_mirrors_columns_say_what_the_rows_say(name: str, tmp_path: Path, data_dir: Path) -> None:
    session = session_of(name, tmp_path)
    decoded = dialects.decode(session_rows(session))

    assert session_weight(session).weight == weigh(session_pieces(decoded), session.part_count)


def test_of_v2_sessions_too(tmp_path: Path, data_dir: Path) -> None:
    sizes = set()
    for name, tables in list(stores().items())[:6]:
        for session in Session.objects.filter(source=attached(written(tmp_path / f"{name}.db", tables))):
            decoded = dialects.decode(session_rows(session))
            weighed = session_weight(session)
            assert weighed.weight == weigh(session_pieces(decoded), session.part_count)
            assert [one.place for one in weighed.heaviest] == [one.place for one in named(weighed.weight, decoded)]
            sizes.add((session.dialect, weighed.weight.size == session.size_bytes))
    assert ("opencode-v2", True) in sizes


def test_rest_and_the_command_say_the_same_of_it(heavy: Session, store: Path, suture: Suture) -> None:
    answer = signed_in(superuser()).get(f"/api/v1/sessions/{heavy.pk}/weight").json()
    [told] = suture("weigh", store, "--session", heavy.stored_id, "--json").json["sessions"]

    assert answer["heavy"] and answer["heaviest"][0]["place"] == "bash call, turn 2"
    assert [way["rule"] for way in answer["ways"]] == ["huge-output", "huge-summary-diffs"]
    assert {name: told[name] for name in answer} == answer


def test_a_long_session_costs_few_queries_reads_no_texts_and_has_few_bars(tmp_path: Path, data_dir: Path) -> None:
    path = tmp_path / "long.db"
    make_store(path, sessions=1, turns=3 * BARS)
    session = Session.objects.get(source=attached(path))

    with CaptureQueriesContext(
        connection,
    ) as asked:
        weighed = session_weight(session)
    page = details(signed_in(superuser()), session)

    assert len(asked) <= 14
    assert len(weighed.weight.turns) == 3 * BARS
    assert page.count("<title>Turns ") == BARS
    assert "Turns 1 to 3" in page
