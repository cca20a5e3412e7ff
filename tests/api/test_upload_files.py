"""Files of uploads that are refused: closed and gone with the answer, whatever was wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.test import Client

pytestmark = pytest.mark.django_db
URL = "/api/v1/sources"


def open_uploads() -> list[str]:
    """Uploaded files that this process has open."""
    found = []
    for handle in Path("/proc/self/fd").iterdir():
        try:
            found.append(os.readlink(handle))
        except OSError:
            continue
    return [name for name in found if ".upload" in name]


def several(count: int) -> dict[str, SimpleUploadedFile]:
    return {f"file{number}": SimpleUploadedFile(f"{number}.db", b"x" * 100) for number in range(count)}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="looks at open files where the system shows them")
@pytest.mark.parametrize("case", ["no-store", "too-many", "too-large", "cut", "another-operation"])
def test_every_file_of_a_refused_upload_is_closed(
    visitor: Client, data_dir: Path, settings, tmp_path: Path, case: str
) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    settings.SUTURE_UPLOAD_LIMIT = 1_000
    kept = []  # as a debugger or a log record would keep the request
    if case == "no-store":
        kept.append(visitor.post(URL, {"file": SimpleUploadedFile("a.db", b"nothing")}))
    elif case == "too-many":
        kept.append(visitor.post(URL, several(9)))
    elif case == "too-large":
        big = SimpleUploadedFile("b.db", b"x" * 5_000)
        kept.append(visitor.post(URL, {"file": SimpleUploadedFile("a.db", b"x"), "wal": big}))
    elif case == "cut":
        head = '--B\r\nContent-Disposition: form-data; name="file"; filename="a.db"\r\n'
        bad = f"{head}\r\nxx\r\n{head}Content-Transfer-Encoding: base64\r\n\r\n=x=x=x\r\n--B"
        kept.append(visitor.post(URL, bad.encode(), content_type="multipart/form-data; boundary=B"))
    else:
        kept.append(visitor.post("/api/v1/sources/999/sync", several(2)))

    assert kept[0].status_code in (400, 404, 413, 422)
    assert open_uploads() == []
    assert list(tmp_path.glob("*.upload*")) == []


def test_a_locked_database_of_our_own_is_503_and_says_so(visitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*_: object, **__: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr("sessions_app.api.sources.found", locked)

    answer = visitor.post(f"{URL}/1/sync")

    assert answer.status_code == 503
    assert "Suture's own database" in answer.json()["detail"]
    assert answer.headers["Retry-After"]
