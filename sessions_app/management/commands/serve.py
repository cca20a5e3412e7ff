"""``suture serve``: the dashboard and its worker, with the sessions of this machine."""

from __future__ import annotations

import ipaddress
import os
import shutil
import signal
import threading
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import checks
from django.db import connection, connections
from django.http.request import validate_host
from django.utils import timezone

from sessions_app import stores, tasks
from sessions_app.management import declared
from sessions_app.management.base import FOUND_IT, SutureCommand
from sessions_app.management.browser import browser_open
from sessions_app.management.locks import Seat, Served, Work, serve_lock, served_by, work_lock
from sessions_app.management.serving import Servers, listen
from sessions_app.models import Source
from sessions_app.services.access import (
    local_token_renew,
    local_user_ensure,
    login_link_create,
)
from sessions_app.services.attaching import path_attach
from sessions_app.services.database import database_prepare
from sessions_app.services.repair.recover import repairs_recover
from sessions_app.services.uploading import samples_attach
from sessions_app.stopping import stop
from sessions_app.stores.base import StoreError

_ENDING_SECONDS = 3.0
"""The children of a killed ``serve`` end within two."""
_STARTING_SECONDS = 20.0
"""For so long a second ``serve`` waits until the first one answers."""
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104  told apart, not listened on
"""Addresses that stand for all of this machine's, and one of them that answers here."""


class Command(declared.Serve, SutureCommand):
    def run(self, *, paths: list[str], host: str, port: int, no_worker: bool, open: bool, **options: Any) -> int:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin without
        directory = Path(settings.SUTURE_DATA_DIR)
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        with serve_lock(directory) as seat:
            if seat is None:
                return self._join(directory, paths, open)
            with work_lock(directory, patience=_ENDING_SECONDS) as work:
                return self._serve(seat, work, paths=paths, host=host, port=port, worker=not no_worker, show=open)

    def _serve(
        self, seat: Seat, work: Work, *, paths: list[str], host: str, port: int, worker: bool, show: bool
    ) -> int:
        listener = listen(host, port)
        self._allow(host)
        database_prepare()
        for message in checks.run_checks(tags=["security", "database"]):
            self.say(str(message))
        if work.alone:
            for told in repairs_recover(now=timezone.now()):
                self.say(told)
        self._attach(paths)
        served = Served(os.getpid(), address(host, listener.getsockname()[1]), is_loopback(host))
        link = self._welcome(served)
        if served.local:
            user, now = local_user_ensure(), timezone.now()
            token = local_token_renew(user=user, now=now, place=Path(settings.SUTURE_DATA_DIR), alone=work.alone)
            self.tell(f"API token: {token}")
        self.tell("Stop with Ctrl-C.")
        self.stdout.flush()
        seat.tell(served)
        # Elsewhere others may work on the same PostgreSQL, whose jobs are none of ours.
        take_over = work.alone and connection.vendor == "sqlite"
        connections.close_all()
        work.share()
        self._gather_figures()
        if show:
            self._open(link)
        stopped_by = Servers(listener, work=work.handle, worker=worker, take_over=take_over).run()
        if stopped_by:
            stop(stopped_by)
        self.say("The web server ended by itself.")
        return FOUND_IT

    def _join(self, directory: Path, paths: list[str], show: bool) -> int:
        """Another ``serve`` has this data directory: give it what is to be attached, and tell where it is."""
        first = served_by(directory, patience=_STARTING_SECONDS)
        if not first.url:
            self.say(f"Another suture serve (process {first.pid}) is starting with {directory}; try again in a moment.")
            return FOUND_IT
        for path in paths:
            self._attached(Path(path))
        self.say(f"Another suture serve (process {first.pid}) has {directory} already; this one adds to it and ends.")
        link = self._welcome(first)
        self.stdout.flush()
        if show:
            self._open(link).join()
        return 0

    def _allow(self, host: str) -> None:
        """The name that was asked for is answered, unless the settings say which names are."""
        if "SUTURE_ALLOWED_HOSTS" in os.environ or validate_host(in_url(host), settings.ALLOWED_HOSTS):
            return
        if host in _EVERYWHERE:
            self.say("Only loopback names are answered; set SUTURE_ALLOWED_HOSTS to the names this server has.")
            return
        settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, in_url(host)]
        os.environ["SUTURE_ALLOWED_HOSTS"] = ",".join(settings.ALLOWED_HOSTS)  # for the web server

    def _gather_figures(self) -> None:
        """The folder that the web processes share for the page of metrics; what earlier ones left there is over."""
        if settings.SUTURE_METRICS_TOKEN:
            folder = Path(settings.SUTURE_DATA_DIR) / "metrics"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o700)
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)

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
        attached = path_attach(path=path, actor="command", now=timezone.now(), face="command")
        for source, job in attached.sources:
            tasks.job_enqueue(job)
            more = " and more" if source.state == Source.State.LISTING else ""
            self.tell(f"{source.path}: {source.sessions_total} sessions{more}")
        for words in attached.passed_over:
            self.say(f"Passed over: {words}")

    def _welcome(self, served: Served) -> str:
        """Tell where it is; gives what to open: on loopback a link that signs in, else the address."""
        self.tell(f"Suture is at {served.url}/")
        if served.local:
            now = timezone.now()
            link = f"{served.url}/login/link/{login_link_create(user=local_user_ensure(), now=now)}"
            self.tell(f"Sign in, once and within 15 minutes: {link}")
            return link
        if not get_user_model().objects.filter(is_active=True).exclude(password__startswith="!").exists():  # noqa: S106  unusable ones begin so
            self.say("Nobody can sign in yet; make a user with: suture createsuperuser")
        return f"{served.url}/"

    def _open(self, link: str) -> threading.Thread:
        """In a thread of its own: some browsers are waited for."""

        def show() -> None:
            if not browser_open(link, through=Path(settings.SUTURE_DATA_DIR) / "open.html"):
                self.say("No browser could be opened; open the address yourself.")

        thread = threading.Thread(target=show, name="browser", daemon=True)
        thread.start()
        return thread


def is_loopback(host: str) -> bool:
    """Only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def in_url(host: str) -> str:
    """As an address writes it: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def address(host: str, port: int) -> str:
    """Where the server answers, as far as it can be told from here: by a name that the settings let in."""
    name = _EVERYWHERE.get(host, in_url(host))
    if not validate_host(name, settings.ALLOWED_HOSTS):
        name = next((known for known in settings.ALLOWED_HOSTS if not known.startswith((".", "*"))), name)
    return f"http://{name}:{port}"
