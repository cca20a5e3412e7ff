"""Turns in real stores: opencode's own file and the mirror; and the example of the documentation, run as it stands
there."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sessions_app.domain import dialects
from sessions_app.domain.processor import V2Shape
from sessions_app.domain.processor.events import Event, StepStart
from sessions_app.models import Part, Session, Source
from sessions_app.services.mirrorturns import MirrorRefused, MirrorTurnStore
from sessions_app.stores.base import StoreError
from sessions_app.stores.changes import GuardRefused
from sessions_app.stores.fileturns import FileTurnStore
from tests.factories.corpus import NOW, session_of
from tests.paths import CORPUS
from tests.processor.surroundings import World, broken, call, reply, text
from tests.providers.scripted import Answer, chat_call, chat_end, chat_text, scripted

FAILING_THEN_TOOL_THEN_TEXT: list[list[Event | Exception]] = [
    [StepStart(), *text("half"), broken()],
    reply(*text("I look"), *call("call_9"), reason="tool-calls"),
    reply(*text("found it")),
]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return Path(shutil.copyfile(CORPUS / "clean.db", tmp_path / "opencode.db"))


def session_id(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("SELECT id FROM session").fetchone()[0])


def later(world: World) -> World:
    world.now = 1_799_000_000_000
    return world


def test_a_turn_lands_in_the_clients_file_with_its_sums_and_without_the_failed_attempt(
    database: Path,
) -> None:
    with FileTurnStore(database, session_id(database)) as store:
        before = store.rows().session
        world = later(World(list(FAILING_THEN_TOOL_THEN_TEXT), store=store, every=0))  # type: ignore[arg-type]
        world.ask("look")
        rows = store.rows()

    session = dialects.decode(rows)
    assert not session.faults
    told = [part.data["text"] for message in session.messages[-3:] for part in message.parts if part.kind == "text"]
    assert told == ["look", "I look", "found it"]
    assert "half" not in "".join(row["data"] for row in rows.parts)
    assert rows.session["tokens_input"] == before["tokens_input"] + 20
    assert rows.session["tokens_output"] == before["tokens_output"] + 10
    assert rows.session["time_updated"] > before["time_updated"]


def test_rows_that_another_client_changed_are_not_overwritten(database: Path) -> None:
    class Meddled(World):
        def tool(self, name: str, given: object) -> str:
            with closing(sqlite3.connect(database)) as connection, connection:
                connection.execute("UPDATE part SET data = '{}' WHERE data LIKE '%call_9%'")
            return "ok"

    with FileTurnStore(database, session_id(database)) as store:
        world = later(Meddled([reply(*call("call_9"), reason="tool-calls")], store=store))  # type: ignore[arg-type]
        with pytest.raises(GuardRefused):
            world.ask("look")

    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT count(*) FROM part WHERE data = '{}'").fetchone() == (1,)


def test_a_v2_session_of_the_clients_file_is_refused_with_the_reason() -> None:
    path = CORPUS / "v2-gen1.db"

    with pytest.raises(StoreError, match="without their events have stopped upgrades"):
        FileTurnStore(path, session_id(path))


@pytest.mark.django_db
def test_a_turn_lands_in_the_mirror_and_is_judged_there(tmp_path: Path) -> None:
    session = session_of("clean", tmp_path)
    Source.objects.filter(pk=session.source_id).update(origin="uploaded")
    session = Session.objects.select_related("source").get(pk=session.pk)
    store = MirrorTurnStore(session)
    parts = session.part_count
    world = later(World(list(FAILING_THEN_TOOL_THEN_TEXT), store=store, every=0))  # type: ignore[arg-type]

    world.ask("look")
    before_settling = store.rows()
    store.settle(now=NOW)

    session.refresh_from_db()
    assert store.rows() == before_settling
    assert session.part_count == parts + 1 + 4 + 3
    assert session.health == "healthy"
    assert list(Part.objects.filter(session=session).order_by("position").values_list("position", flat=True)) == list(
        range(session.part_count)
    )
    assert Part.objects.get(session=session, call_id="call_9").status == "completed"


@pytest.mark.django_db
def test_a_v2_turn_lands_in_the_mirror_of_an_upload(tmp_path: Path) -> None:
    session = session_of("v2-gen1", tmp_path)
    with pytest.raises(MirrorRefused, match="stopped upgrades"):
        MirrorTurnStore(session)
    Source.objects.filter(pk=session.source_id).update(origin="uploaded")
    session = Session.objects.select_related("source").get(pk=session.pk)
    store = MirrorTurnStore(session)
    rows = len(store.rows().session_message)
    world = later(World([reply(*text("hello"))], store=store, shape=V2Shape(2)))  # type: ignore[arg-type]

    world.ask("hi")
    store.settle(now=NOW)

    made = store.rows().session_message
    assert [row["type"] for row in made[rows:]] == ["user", "assistant"]
    assert json.loads(made[-1]["data"])["content"] == [{"type": "text", "text": "hello"}]


def test_the_agent_of_the_documentation_runs(
    database: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "engine.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```python\n(.*?)```", page, re.S)
    code = [line for line in example.splitlines() if line.strip()]
    assert len(code) <= 40
    first = Answer((*chat_call("call_9", "bash", '{"command":', '"echo $((6 * 7))"}'), *chat_end("tool_calls")))
    with scripted(first, Answer((*chat_text("forty", "-two"), *chat_end()))) as served:
        for name, value in {
            "AGENT_PROVIDER": "acme",
            "AGENT_MODEL": "model-1",
            "AGENT_DATABASE": str(database),
            "AGENT_SESSION": session_id(database),
            "AGENT_PROMPT": "What is six times seven?",
            "SUTURE_PROVIDER_ACME_URL": f"{served.url}/v1",
            "SUTURE_PROVIDER_ACME_KEY": "secret",
        }.items():
            monkeypatch.setenv(name, value)
        exec(compile(example, "engine.md", "exec"), {"__name__": "engine"})

    assert capsys.readouterr().out.splitlines()[-1] == "stop"
    with FileTurnStore(database, session_id(database)) as store:
        session = dialects.decode(store.rows())
    [tool] = session.messages[-2].tools()
    assert tool.state["output"] == "42\n"
    assert [part.data["text"] for part in session.messages[-1].parts if part.kind == "text"] == ["forty-two"]
