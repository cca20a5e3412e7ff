"""Limits that hold: generated inputs that are small to send and large to handle are refused in words, in time."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import time
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from sessions_app.models import Session
from sessions_app.selectors.timeline import TurnHead
from sessions_app.services.importing import import_run
from sessions_app.stores.archive import ArchiveLimits, unpack
from sessions_app.stores.base import StoreError
from sessions_app.stores.intake import Limits, take_in
from sessions_app.web.turnindex import LISTED, listed_turns
from tests.factories.people import signed_in

MEGA = 1024**2
SMALL = ArchiveLimits(freely=MEGA)


class Zeros(io.RawIOBase):
    """So many zero bytes, without holding them."""

    def __init__(self, size: int) -> None:
        self.left = size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        found = bytes(min(self.left, size if size >= 0 else self.left))
        self.left -= len(found)
        return found


def bomb(path: Path, size: int, name: str = "storage/big.json", kind: bytes = tarfile.REGTYPE) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made, made.open(name, "w", force_zip64=True) as out:
            for _ in range(size // MEGA):
                out.write(bytes(MEGA))
        return path
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    with gzip.open(path, "wb", compresslevel=9) as raw:
        raw.write(member.tobuf())
        for _ in range(size // MEGA):
            raw.write(bytes(MEGA))
        raw.write(bytes(1024))
    return path


@pytest.mark.parametrize("ending", ["tgz", "zip"])
@pytest.mark.parametrize("name", ["storage/big.json", "../outside"])
def test_an_archive_that_grows_too_much_is_refused_by_its_ratio(tmp_path: Path, ending: str, name: str) -> None:
    packed = bomb(tmp_path / f"x.{ending}", 20 * MEGA, name)
    if (ending, name) == ("zip", "../outside"):
        return  # what lies outside is passed over there, and not unpacked at all
    with pytest.raises(StoreError, match="100 times its own size"):
        unpack(packed, tmp_path / "out", SMALL)


def test_what_is_no_file_may_not_be_large(tmp_path: Path) -> None:
    for kind in (tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, b"V"):
        packed = bomb(tmp_path / "x.tgz", 40 * MEGA, kind=kind)
        with pytest.raises(StoreError, match="large that is no file"):
            unpack(packed, tmp_path / "out", ArchiveLimits())


@pytest.mark.parametrize("ending", ["tgz", "zip"])
def test_an_archive_is_given_so_much_time(tmp_path: Path, ending: str) -> None:
    packed = bomb(tmp_path / f"x.{ending}", 4 * MEGA)
    with pytest.raises(StoreError, match="more than 0 seconds"):
        unpack(packed, tmp_path / "out", ArchiveLimits(seconds=0.0))


@pytest.mark.parametrize("ending", [".tar", ".tgz", ".tar.xz", ".tar.bz2", ".zip"])
def test_an_honest_archive_comes_out_whole(tmp_path: Path, ending: str) -> None:
    texts = {f"storage/{n}.json": json.dumps({"n": n, "text": f"{n} " * 3000}) for n in range(200)}
    path = tmp_path / f"x{ending}"
    if ending == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, text in texts.items():
                packed.writestr(name, text)
    else:
        with tarfile.open(path, {".tar": "w", ".tgz": "w:gz", ".tar.xz": "w:xz", ".tar.bz2": "w:bz2"}[ending]) as tar:
            for name, text in texts.items():
                member = tarfile.TarInfo(name)
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text.encode()))
    unpack(path, tmp_path / "out")

    assert {name: (tmp_path / "out" / name).read_text() for name in texts} == texts


def export(messages: int) -> bytes:
    """An export of empty messages."""
    info = {"id": "ses_big", "projectID": "p", "directory": "/w", "title": "big", "time": {"created": 1, "updated": 2}}
    many = [
        {"info": {"id": f"msg_{n:08d}", "sessionID": "ses_big", "role": "user", "time": {"created": n}}, "parts": []}
        for n in range(messages)
    ]
    return json.dumps({"info": info, "messages": many}).encode()


def test_too_many_messages_are_refused_before_they_are_parsed(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="more than 50,000 messages"):
        take_in(io.BytesIO(export(50_001)), tmp_path / "kept", name="big.json")
    assert not (tmp_path / "kept").exists()


def test_words_about_messages_inside_texts_are_not_counted(tmp_path: Path) -> None:
    document = json.loads(export(3))
    document["messages"][0]["parts"] = [
        {"id": "prt_1", "type": "text", "text": '{"info": {}, "parts": []}' * 50, "messageID": "msg_00000000"}
    ]
    kept = take_in(
        io.BytesIO(json.dumps(document).encode()), tmp_path / "kept", name="x.json", limits=Limits(messages=10)
    )
    assert kept.kind == "export"


def in_time(what: str, seconds: float, began: float) -> None:
    took = time.process_time() - began
    print(f"{what}: {took:.1f} s")
    assert took < seconds, what


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("count", [2_000, pytest.param(50_000, marks=pytest.mark.exhaustive)])
def test_a_session_of_many_empty_messages_is_taken_in_and_shown_in_seconds(
    count: int, alice: User, data_dir: Path, settings: Any
) -> None:
    settings.SUTURE_REQUEST_SECONDS = 600  # processor time is what is measured
    visitor = signed_in(alice)
    most = 3 + count / 10_000
    began = time.process_time()
    file = SimpleUploadedFile("big.json", export(count))
    answer = visitor.post("/api/v1/sources", {"file": file})
    assert answer.status_code == 201
    job = answer.json()["job"]["id"]
    while import_run(job_id=job, clock=timezone.now):
        pass
    in_time("uploaded and read", 3 * most, began)
    session = Session.objects.get()
    assert session.message_count == count
    one = f"/sessions/{session.pk}/"
    for path in (
        one,
        f"{one}findings/",
        f"{one}payload/",
        f"{one}raw/",
        f"/api/v1{one}timeline",
        f"/api/v1{one}payload",
    ):
        began = time.process_time()
        answer = visitor.get(path)
        assert answer.status_code in (200, 409, 422), path
        assert len(answer.content) < 2 * MEGA
        in_time(path, most, began)


def test_the_index_of_very_many_turns_names_those_around_and_a_few_of_all_others() -> None:
    turns = [TurnHead(n + 1, "", (), n, 1, 1, 0, None) for n in range(50_000)]
    for start in (0, 25_000, 49_999):
        listed = [turn.number for turn in listed_turns(turns, start)]

        assert len(listed) <= LISTED
        assert start + 1 in listed
        assert listed == sorted(listed)
        assert max(b - a for a, b in pairwise(listed)) <= 50_000 / (LISTED / 2) + 1
    assert listed_turns(turns[:LISTED], 0) == turns[:LISTED]


@pytest.mark.exhaustive
@pytest.mark.django_db
@pytest.mark.parametrize("ending", ["tgz", "zip"])
def test_nine_megabytes_that_unpack_to_eight_gigabytes_hold_no_thread(
    ending: str, alice: User, tmp_path: Path, data_dir: Path
) -> None:
    packed = bomb(tmp_path / f"x.{ending}", 8 * 1024 * MEGA)
    program: Client = signed_in(alice)
    began = time.monotonic()
    with packed.open("rb") as file:
        answer = program.post("/api/v1/sources", {"file": file})
    took = time.monotonic() - began
    print(f"{packed.stat().st_size:,} bytes refused in {took:.1f} s")

    assert answer.status_code == 422
    assert "The archive" in answer.json()["detail"]
    assert took < 30
    assert not list((data_dir / "uploads").glob("*"))
