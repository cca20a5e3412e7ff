"""``suture serve``: the dashboard and its worker, with the sessions of this machine."""

from __future__ import annotations

import ipaddress
import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import checks
from django.db import connections
from django.utils import timezone

from sessions_app import stores, tasks
from sessions_app.management.base import SutureCommand
from sessions_app.management.serving import Servers, listen, only_server
from sessions_app.models import Source
from sessions_app.services.access import (
    local_token_renew,
    local_user_ensure,
    login_link_create,
)
from sessions_app.services.database import database_prepare
from sessions_app.services.importing import source_attach
from sessions_app.services.repair.recover import repairs_recover
from sessions_app.services.uploading import samples_attach
from sessions_app.stores.base import StoreError


class Command(SutureCommand):
    help = "Serve the dashboard, with a background worker."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "paths",
            nargs="*",
            metavar="PATH",
            help="what to attach; left out: opencode's own database, else samples",
        )
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000, help="0 takes a free one (default: %(default)s)")
        parser.add_argument("--no-worker", action="store_true", help="the worker runs elsewhere: suture db_worker")

    def run(self, *, paths: list[str], host: str, port: int, no_worker: bool, **options: Any) -> int:
        listener = listen(host, port)
        database_prepare()
        for message in checks.run_checks(tags=["security", "database"]):
            self.say(str(message))
        with only_server(Path(settings.SUTURE_DATA_DIR)) as alone:
            if alone:
                for told in repairs_recover(now=timezone.now()):
                    self.say(told)
            self._attach(paths)
            loopback = is_loopback(host)
            if not loopback and "SUTURE_ALLOWED_HOSTS" not in os.environ:
                self.say(
                    f"Only loopback names are answered. Set SUTURE_ALLOWED_HOSTS to the names this server ({host}) has."
                )
            name = f"[{host}]" if ":" in host else host
            self._welcome(f"http://{name}:{listener.getsockname()[1]}", loopback)
            connections.close_all()
            return Servers(listener, worker=not no_worker, take_over=alone).run()

    def _attach(self, paths: list[str]) -> None:
        now = timezone.now()
        for path in paths:
            self._attached(Path(path))
        if paths:
            return
        for found in stores.discover():
            try:
                self._attached(found)
            except StoreError as problem:
                self.say(f"{problem.path}: {problem.words} {problem.next_step}".strip())
        if not Source.objects.exists():
            source, job = samples_attach(actor="command", now=now)
            tasks.job_enqueue(job)
            self.tell(
                f"No database of opencode was found; {source.name.lower()} are shown ({source.sessions_total}"
                " sessions)."
            )

    def _attached(self, path: Path) -> None:
        source, job = source_attach(path=path, actor="command", now=timezone.now(), face="command")
        tasks.job_enqueue(job)
        self.tell(f"{source.path}: {source.sessions_total} sessions")

    def _welcome(self, url: str, loopback: bool) -> None:
        now = timezone.now()
        self.tell(f"Suture is at {url}/")
        if loopback:
            user = local_user_ensure()
            self.tell(f"Sign in, once and within 15 minutes: {url}/login/link/{login_link_create(user=user, now=now)}")
            self.tell(f"API token: {local_token_renew(user=user, now=now)}")
        elif not get_user_model().objects.filter(is_active=True).exclude(password__startswith="!").exists():  # noqa: S106  unusable ones begin so
            self.say("Nobody can sign in yet; make a user with: suture createsuperuser")
        self.tell("Stop with Ctrl-C.")
        self.stdout.flush()


def is_loopback(host: str) -> bool:
    """Only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
