"""No request holds a thread for long: wherever its time runs out it is refused in words, and nothing is half done."""

from __future__ import annotations

import io
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.test import Client, RequestFactory

from sessions_app.domain import dialects, planning
from sessions_app.domain.patience import OutOfTime, go_on, limited, unlimited
from sessions_app.domain.scan import scan
from sessions_app.kept import forget_all
from sessions_app.models import Repair, Session, Source
from sessions_app.stores import open_store
from sessions_app.stores.archive import unpack
from sessions_app.stores.backup import backup_sqlite
from sessions_app.stores.intake import take_in
from sessions_app.stores.sqlite.connection import open_reader
from sessions_app.web import intime
from sessions_app.web.diff import block_diff
from tests.factories.corpus import attached
from tests.paths import CORPUS
from tests.security.test_limits import export

BLOCKED = CORPUS / "seed_kimi_abort@1.18.11.db"


class Looks:
    """A limit that is over at a look."""

    last: int | None = None
    seconds = 25.0
    count = 0

    def __init__(self, seconds: float = 0) -> None:
        type(self).count = 0

    def restart(self) -> None:
        pass

    def __call__(self) -> bool:
        type(self).count += 1
        return self.last is not None and type(self).count >= self.last


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> type[Looks]:
    monkeypatch.setattr(intime, "Deadline", Looks)
    monkeypatch.setattr(Looks, "last", None)
    return Looks


@pytest.fixture
def blocked(tmp_path: Path, data_dir: Path, db: None) -> Session:
    path = tmp_path / "opencode.db"
    shutil.copyfile(BLOCKED, path)
    attached(path)
    return Session.objects.get()


def upload(visitor: Client, path: str) -> Any:
    return visitor.post(path, {"file": SimpleUploadedFile("big.json", export(200))})


ASKED: dict[str, Callable[[Client, Session], Any]] = {
    "timeline": lambda visitor, one: visitor.get(f"/sessions/{one.pk}/"),
    "findings": lambda visitor, one: visitor.get(f"/sessions/{one.pk}/findings/"),
    "payload": lambda visitor, one: visitor.get(f"/sessions/{one.pk}/payload/"),
    "raw": lambda visitor, one: visitor.get(f"/sessions/{one.pk}/raw/"),
    "scan": lambda visitor, one: visitor.post(f"/sessions/{one.pk}/scan/"),
    "preview": lambda visitor, one: visitor.get(f"/sessions/{one.pk}/repair/"),
    "find": lambda visitor, one: visitor.get(f"/sessions/{one.pk}/?find=the"),
    "list": lambda visitor, one: visitor.get("/sessions/?health=blocked"),
    "search": lambda visitor, one: visitor.get("/search/?q=the"),
    "locate": lambda visitor, one: visitor.post("/locate/", {"error": "messages.1: tool_use ids must be unique"}),
    "store": lambda visitor, one: visitor.get(f"/sources/{one.source_id}/store/"),
    "upload": lambda visitor, one: upload(visitor, "/sources/upload/"),
    "bulk": lambda visitor, one: visitor.get("/bulk/?health=blocked"),
    "admin": lambda visitor, one: visitor.get("/admin/sessions_app/session/"),
    "api list": lambda visitor, one: visitor.get("/api/v1/sessions"),
    "api plan": lambda visitor, one: visitor.post(f"/api/v1/sessions/{one.pk}/plan", {}, "application/json"),
    "api export": lambda visitor, one: visitor.get(f"/api/v1/sessions/{one.pk}/export?as=export"),
    "api whole": lambda visitor, one: visitor.get(f"/api/v1/sources/{one.source_id}/export?as=patch"),
    "api upload": lambda visitor, one: upload(visitor, "/api/v1/sources"),
    "api verdicts": lambda visitor, one: visitor.get(f"/api/v1/sessions/{one.pk}/payload"),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ASKED)
def test_every_kind_of_request_ends_in_words_where_its_time_runs_out(
    name: str, visitor: Client, blocked: Session, looks: type[Looks], data_dir: Path
) -> None:
    assert ASKED[name](visitor, blocked).status_code < 500
    if name == "locate":  # a text that was pasted before is not kept again
        ASKED[name](visitor, blocked)
    count = looks.count
    Source.objects.exclude(pk=blocked.source_id).delete()
    kept = {path.name for path in (data_dir / "uploads").glob("*")}
    for last in {1, count // 3 + 1, 2 * count // 3 + 1}:
        looks.last = last
        forget_all()
        answer = ASKED[name](visitor, blocked)

        assert answer.status_code == 503, (last, count)
        assert "takes longer than the 25 seconds" in answer.content.decode()
        assert answer["Retry-After"]
        if last == 1:
            assert {path.name for path in (data_dir / "uploads").glob("*")} == kept


@pytest.mark.django_db(transaction=True)
def test_a_repair_whose_time_runs_out_was_not_begun_or_is_finished(
    visitor: Client, blocked: Session, looks: type[Looks]
) -> None:
    path = Path(blocked.source.path)
    before = path.read_bytes()
    stopped = 0
    for last in [*range(1, 40, 5), *range(40, 5_000, 60)]:
        looks.last = last
        answer = visitor.post(f"/sessions/{blocked.pk}/repair/", {})
        if answer.status_code == 302:
            break
        stopped += 1
        assert answer.status_code == 503
        assert path.read_bytes() == before
        assert not Repair.objects.exists()
    looks.last = None
    assert stopped > 3
    repair = Repair.objects.get()
    assert repair.state == Repair.State.APPLIED
    blocked.refresh_from_db()
    assert blocked.health != "blocked"


def told(ends: int) -> Callable[[], bool]:
    """A limit that is over at the look with this number."""
    left = iter(range(ends))
    return lambda: next(left, None) is None


def rows() -> Any:
    with open_store(BLOCKED) as store:
        return store.read(store.session_ids()[0])


def packed(folder: Path) -> Path:
    (folder / "a.json").write_text("x" * 3_000_000)
    with tarfile.open(folder / "x.tgz", "w:gz") as tar:
        tar.add(folder / "a.json", "storage/a.json")
    return folder / "x.tgz"


def kept(folder: Path) -> Path:
    (folder / "big.json").write_bytes(export(50))
    return folder / "big.json"


type Work = Callable[[], object]
WORK: dict[str, Callable[[Path], Work]] = {
    "decode": lambda folder: partial(dialects.decode, rows()),
    "scan": lambda folder: partial(scan, dialects.decode(rows())),
    "plan": lambda folder: partial(planning.plan, dialects.decode(rows())),
    "diff": lambda folder: partial(block_diff, "", "", [str(n) for n in range(0, 90, 3)], ["0", "3\n1", "9"]),
    "unpack": lambda folder: partial(unpack, packed(folder), folder / "out"),
    "read a text": lambda folder: partial(open_store, kept(folder)),
    "take in": lambda folder: partial(take_in, io.BytesIO(export(50)), folder / "kept", name="x.json"),
    "back up": lambda folder: partial(backup_sqlite, BLOCKED, folder / "copy.db"),
}


@pytest.mark.parametrize("name", WORK)
def test_long_work_looks_at_its_limit(name: str, tmp_path: Path) -> None:
    work = WORK[name](tmp_path)
    with pytest.raises(OutOfTime), limited(told(0)):
        work()
    assert not (tmp_path / "kept").exists()
    assert not list(tmp_path.glob("*copy.db*"))


def test_what_is_begun_may_be_finished() -> None:
    with limited(told(0)):
        with unlimited():
            go_on()
        with pytest.raises(OutOfTime):
            go_on()


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"


def test_a_query_of_a_store_is_stopped_while_it_runs() -> None:
    with closing(open_reader(BLOCKED)) as reader, limited(told(3)), pytest.raises(Exception, match="interrupted"):
        reader.execute(ENDLESS).fetchone()


@pytest.mark.django_db
def test_a_query_of_our_own_is_stopped_while_it_runs(settings: Any) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL has statement_timeout")
    settings.SUTURE_REQUEST_SECONDS = 0.2

    def endless(request: HttpRequest) -> HttpResponseBase:
        with connection.cursor() as cursor:
            cursor.execute(ENDLESS)
        return HttpResponse("never")

    answer = intime.in_time(endless)(RequestFactory().get("/sessions/"))

    assert answer.status_code == 503


def test_each_piece_of_a_stream_has_its_own_time(looks: type[Looks]) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"one"
        go_on()
        yield b"two"

    answer = intime.in_time(lambda request: StreamingHttpResponse(pieces()))(RequestFactory().get("/sessions/"))
    assert b"".join(answer) == b"onetwo"

    looks.last = 1
    answer = intime.in_time(lambda request: StreamingHttpResponse(pieces()))(RequestFactory().get("/sessions/"))
    with pytest.raises(TimeoutError, match="25 seconds"):  # a web server's thread survives no other kind
        list(answer)


def test_what_arrives_slowly_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(intime, "monotonic", lambda: now[0])
    deadline = intime.Deadline(25)
    now[0] = 60.0
    assert deadline()
    deadline.restart()  # as uploads.py does with every piece
    assert not deadline()
