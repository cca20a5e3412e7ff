"""Uploaded files: streamed to the data directory's disk, refused while they arrive where they are too large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import StopUpload, TemporaryFileUploadHandler
from django.http import HttpRequest, HttpResponseBase


class LimitedUploadHandler(TemporaryFileUploadHandler):
    """Stops a request whose files together pass ``SUTURE_UPLOAD_LIMIT`` bytes; ``request.upload_too_large`` says so
    then."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.received = 0

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        if self.request is not None:
            vars(self.request).setdefault(_OPENED, []).append(self.file)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self.received += len(raw_data)
        if (deadline := vars(self.request).get(DEADLINE)) is not None:
            deadline.restart()
        if self.received > settings.SUTURE_UPLOAD_LIMIT:
            if self.request is not None:
                self.request.upload_too_large = True  # type: ignore[attr-defined]
            raise StopUpload(connection_reset=True)
        super().receive_data_chunk(raw_data, start)


_OPENED = "uploads_opened"
DEADLINE = "deadline"
"""The attribute of a request that holds its limit of time (web/intime.py), which begins when all has arrived."""


def uploads_closed(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Uploaded files are closed, and so deleted, with the answer: Django forgets those of a request that it refuses
    while it arrives."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        try:
            return get_response(request)
        finally:
            for file in vars(request).get(_OPENED, ()):
                file.close()

    return answer
