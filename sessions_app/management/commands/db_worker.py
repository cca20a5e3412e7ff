"""The background worker: django-tasks-db's, that says it lives and takes up what a killed one left."""

from __future__ import annotations

import threading
import time
from argparse import ArgumentParser
from typing import Any

import structlog
from django.core.management.base import CommandError
from django.db import close_old_connections, connection
from django.db.utils import DatabaseError, OperationalError
from django.utils import timezone
from django_tasks_db.management.commands.db_worker import Command as Worker

from sessions_app import tasks
from sessions_app.management import lifeline
from sessions_app.management.base import untold
from sessions_app.management.declared import Worker as Declared
from sessions_app.management.locks import work_lock
from sessions_app.services import workers
from sessions_app.services.datadir import data_dir

log = structlog.get_logger(__name__)


_DAY = 86_400.0


class Command(Worker):
    help = Declared.help

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        untold(parser)
        Declared().add_arguments(parser)

    def handle(self, **options: Any) -> None:
        lifeline.watch()
        with work_lock(data_dir(), patience=0) as work:
            work.share()
            try:
                self._work(**options)
            except OperationalError as problem:  # ``serve`` starts it again, until the database is back
                raise CommandError(
                    f"The worker ends, the database does not answer: {_first_line(problem)}"
                ) from problem

    def _work(self, **options: Any) -> None:
        worker_id, take_over = options["worker_id"], options.pop("take_over", False)
        workers.worker_beat(worker_id=worker_id, now=timezone.now())
        for told in tasks.start(alone=take_over):
            self.stderr.write(told)
        done = threading.Event()
        beating = threading.Thread(target=_beat, args=(worker_id, done), name="heartbeat", daemon=True)
        beating.start()
        try:
            super().handle(**options)
        finally:
            done.set()
            workers.worker_gone(worker_id=worker_id)


def _beat(worker_id: str, done: threading.Event) -> None:
    """Say that this worker lives, and look for jobs that lost theirs; once a day, tidy up."""
    pruned = -_DAY
    while not done.wait(workers.BEAT_SECONDS):
        try:
            workers.worker_beat(worker_id=worker_id, now=timezone.now())
            tasks.reap()
            if time.monotonic() - pruned >= _DAY:
                pruned = time.monotonic()
                tasks.prune()
        except DatabaseError as problem:  # a locked database passes; the next beat tries again
            log.warning("heartbeat missed", why=_first_line(problem))
            close_old_connections()
    connection.close()


def _first_line(problem: Exception) -> str:
    return str(problem).partition("\n")[0]
