"""The role matrix: every operation of the API and every page, with ids that are there, for everybody who may ask."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from sessions_app.api.app import api
from sessions_app.domain.wish import Wish
from sessions_app.models import (
    ApiToken,
    Compaction,
    ImportJob,
    Part,
    PastedError,
    Repair,
    SavedView,
    Scope,
    Session,
    Source,
    Verdict,
)
from sessions_app.services.access import token_create
from sessions_app.services.actor import Actor
from sessions_app.services.bulk import Selection, bulk_start
from sessions_app.services.repair.apply import repair_apply
from sessions_app.web.urls import urlpatterns
from tests.each import some_of
from tests.factories.corpus import session_of
from tests.factories.people import signed_in, superuser

pytestmark = pytest.mark.django_db(transaction=True)

READ, REPAIR, ADMINISTER = Scope.READ, Scope.REPAIR, Scope.ADMINISTER
API: dict[str, tuple[Scope, Any]] = {
    "GET sources": (READ, None),
    "POST sources": (ADMINISTER, {"path": "{path}"}),
    "GET sources/{number}": (READ, None),
    "POST sources/{number}/sync": (ADMINISTER, {}),
    "PATCH sources/{number}": (ADMINISTER, {"input": "text"}),
    "DELETE sources/{number}": (ADMINISTER, None),
    "GET sources/{number}/store": (READ, None),
    "GET sources/{number}/upgrade-check": (READ, None),
    "GET sources/{number}/kept": (READ, None),
    "GET sources/{number}/doctor": (READ, None),
    "GET sources/{number}/export": (REPAIR, None),
    "GET jobs": (READ, None),
    "GET jobs/{job}": (READ, None),
    "POST sources/{number}/recover": (ADMINISTER, {}),
    "POST sources/{number}/tidy": (REPAIR, {}),
    "POST sources/{number}/slim": (REPAIR, {}),
    "GET sources/{number}/slim": (READ, None),
    "POST sources/{number}/slim/cancel": (REPAIR, {}),
    "POST sources/{number}/slim/forget": (REPAIR, {}),
    "POST sources/{number}/adopt": (REPAIR, {"into": 0}),
    "POST sources/{number}/relink": (REPAIR, {"from": "/a", "to": "/b"}),
    "GET sessions": (READ, None),
    "GET search": (READ, {"q": "x"}),
    "GET sessions/{sid}": (READ, None),
    "GET sessions/{sid}/findings": (READ, None),
    "GET sessions/{sid}/verdicts": (READ, None),
    "GET sessions/{sid}/timeline": (READ, None),
    "GET sessions/{sid}/weight": (READ, None),
    "GET sessions/{sid}/payload": (READ, None),
    "GET sessions/{sid}/export": (READ, None),
    "GET sessions/{sid}/probes": (READ, None),
    "POST sessions/{sid}/plan": (REPAIR, {}),
    "POST sessions/{sid}/repair": (REPAIR, {}),
    "POST sessions/{sid}/dedupe": (REPAIR, {}),
    "POST sessions/{sid}/drop": (REPAIR, {}),
    "POST sessions/{sid}/relink/plan": (READ, {}),
    "POST sessions/{sid}/relink": (REPAIR, {}),
    "POST sessions/{sid}/probe": (REPAIR, {}),
    "POST sessions/{sid}/compact": (REPAIR, {}),
    "GET payloads.ndjson": (READ, None),
    "POST locate": (READ, {"error": "x", "session": "{sid}"}),
    "GET repairs": (READ, None),
    "GET repairs/{rid}": (READ, None),
    "POST repairs/{rid}/undo": (REPAIR, {}),
    "GET bulk": (READ, None),
    "POST bulk": (REPAIR, {"ids": ["{sid}"]}),
    "GET bulk/{batch}": (READ, None),
    "GET bulk/{batch}/report": (READ, None),
    "POST bulk/{batch}/cancel": (REPAIR, {}),
    "POST bulk/{batch}/undo": (REPAIR, {}),
    "POST bulk/{batch}/retry": (REPAIR, {}),
    "GET compactions/{compaction}": (READ, None),
    "POST compactions/{compaction}/cancel": (REPAIR, {}),
    "POST compactions/{compaction}/apply": (REPAIR, {}),
}
"""What is asked for -> the scope it needs (and so the permission), the body."""

LOOK, MEND, KEEP = "view_session", "add_repair", "add_source"
WEB: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        (
            *(
                "overview",
                "sessions",
                "jump",
                "search",
                "session",
                "findings",
                "payload",
                "provider",
                "provider-payload",
            ),
            *(
                "session-repairs",
                "raw",
                "handback",
                "details",
                "session-markdown",
                "part-raw",
                "part-body",
                "part-image",
                "sources",
            ),
            "source-upgrade",
            *("source", "source-store", "repairs", "repair-detail", "batch", "batch-report", "locate", "repair"),
            *("account", "relink", "list-news", "session-menu", "compare", "ways"),
        ),
        ("GET", LOOK),
    ),
    **dict.fromkeys(("view-save", "view-change", "view-delete", "token-revoke", "scan"), ("POST", LOOK)),
    "located": ("GET", LOOK),
    "bulk": ("GET", MEND),
    "source-slim": ("GET", MEND),
    **dict.fromkeys(
        (
            *("probe", "compact", "compact-cancel", "compact-apply", "finding-ignore", "finding-mind", "part-reveal"),
            *(
                "source-tidy",
                "source-slim-cancel",
                "source-slim-forget",
                "source-adopt",
                "source-relink",
                "repair-undo",
                "bulk-start",
                "batch-cancel",
                "batch-undo",
            ),
            "batch-retry",
        ),
        ("POST", MEND),
    ),
    **dict.fromkeys(
        (
            *(
                "source-attach",
                "source-upload",
                "path-recover",
                "source-recover",
                "source-sync",
                "source-cancel",
                "source-input",
            ),
            "source-delete",
        ),
        ("POST", KEEP),
    ),
}
"""Page -> method and the permission it needs."""
ANYBODY = {"login", "login-link", "logout"}
SIGNED_IN = {"preferences", "help"}

ROLES = {"nobody": (), "viewer": (LOOK,), "repairer": (LOOK, MEND), "administrator": (LOOK, MEND, KEEP)}
PERMISSION = {READ: LOOK, REPAIR: MEND, ADMINISTER: KEEP}


def user(role: str) -> User:
    made = User.objects.create_user(role, password=role)
    made.user_permissions.set(Permission.objects.filter(codename__in=ROLES[role]))
    return made


@dataclass(frozen=True)
class World:
    """One of everything that an address can name."""

    ids: dict[str, Any]
    owner: User

    def filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self.filled(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.filled(item) for item in value]
        known = {f"{{{name}}}": item for name, item in self.ids.items()}
        return known.get(value, value) if isinstance(value, str) else value

    def ask(self, client: Client, what: str, body: Any) -> Any:
        method, path = what.split(" ")
        address = f"/api/v1/{path.format(**self.ids)}"
        if method == "GET":
            return client.get(address, body)
        data = {"data": self.filled(body), "content_type": "application/json"} if body is not None else {}
        return getattr(client, method.lower())(address, **data)


@pytest.fixture
def world(tmp_path: Path, data_dir: Path) -> World:
    owner = superuser("owner")
    session = session_of("dup_id_slow", tmp_path)
    repaired = session_of("seed_kimi_abort@1.18.11", tmp_path)
    now = timezone.now()
    repair = repair_apply(session=repaired, wish=Wish(), actor=Actor("owner", "api"), now=now)
    batch = bulk_start(
        selection=Selection(ids=(session.pk,)), wish=Wish(), reason="", actor="owner", face="api", now=now
    )
    ids = {
        "number": session.source_id, "sid": session.pk, "rid": repair.public_id, "batch": str(batch.public_id),
        "compaction": Compaction.objects.create(session=session, created_at=now, chunk=0).pk,
        "path": session.source.path,
        "job": ImportJob.objects.get(source=session.source).pk,
    }  # fmt: skip
    return World(ids, owner)


def bearer(owner: User, *scopes: Scope, sources: list[Source] | None = None) -> Client:
    token = token_create(user=owner, name="t", now=timezone.now(), scopes=scopes, sources=sources)[1]
    return Client(headers={"authorization": f"Bearer {token}"}, raise_request_exception=False)


def test_the_tables_name_every_operation_and_every_page() -> None:
    named = {
        f"{method.upper()} {path.removeprefix('/api/v1/')}"
        for path, methods in api.get_openapi_schema()["paths"].items()
        for method in methods
    }
    kinds = {
        "jobs/{number}": "jobs/{job}",
        "bulk/{number}": "bulk/{batch}",
        "compactions/{number}": "compactions/{compaction}",
    }
    for old, new in kinds.items():
        named = {name.replace(old, new) for name in named}
    assert named == set(API)
    assert {item.name for item in urlpatterns} == set(WEB) | ANYBODY | SIGNED_IN


def test_an_operation_is_refused_to_whoever_lacks_its_scope_or_permission(world: World) -> None:
    tokens = {scope: bearer(world.owner, scope) for scope in Scope}
    people = {role: user(role) for role in ROLES}
    logins = {role: signed_in(person) for role, person in people.items()}
    theirs = {role: bearer(person, *Scope) for role, person in people.items()}
    for what, (scope, body) in API.items():
        assert world.ask(Client(), what, body).status_code == 401, what
        for other in set(Scope) - {scope}:
            refused = world.ask(tokens[other], what, body)
            assert refused.status_code == 403, (what, other)
            assert f"scope {scope}" in refused.json()["detail"]
        for role, held in ROLES.items():
            if PERMISSION[scope] not in held:
                assert world.ask(logins[role], what, body).status_code == 403, (what, role)
                assert world.ask(theirs[role], what, body).status_code == 403, (what, f"a token of {role}")


def done(world: World, client: Client, what: str) -> bool:
    answer = world.ask(client, what, API[what][1])
    answer.close()
    return answer.status_code not in (401, 403, 500)


def done_for_all(world: World, what: str) -> None:
    scope, _ = API[what]
    assert done(world, bearer(world.owner, scope), what), what
    for role, held in ROLES.items():
        if PERMISSION[scope] in held:
            person = User.objects.filter(username=role).first() or user(role)
            assert done(world, signed_in(person), what), (what, role)


def test_what_only_reads_is_done_for_everybody_who_may(world: World) -> None:
    for what in API:
        if what.startswith("GET "):
            done_for_all(world, what)


@pytest.mark.parametrize("what", some_of([what for what in API if not what.startswith("GET ")], one_in=3))
def test_what_may_write_is_done_for_everybody_who_may(what: str, world: World) -> None:
    done_for_all(world, what)


def elsewhere(name: str) -> Source:
    now = timezone.now()
    return Source.objects.create(
        kind="sqlite", origin="attached", name=name, path=f"/{name}", created_at=now, updated_at=now
    )


@pytest.mark.parametrize("gone", [False, True])
def test_a_token_of_another_source_reaches_nothing_of_this_one(gone: bool, world: World) -> None:
    other = elsewhere("other")
    asking = bearer(world.owner, *Scope, sources=[other])
    if gone:
        other.delete()
    for what, (_, body) in API.items():
        answer = world.ask(asking, what, body)
        if what in ("POST sources", "POST sources/{number}/recover"):
            assert answer.status_code == 403, what
        elif "{" in what or what in ("POST bulk", "POST locate"):
            assert answer.status_code == 404, what
        elif what == "GET payloads.ndjson":
            assert b"".join(answer.streaming_content) == b""
        else:
            items = answer.json() if isinstance(answer.json(), list) else answer.json()["items"]
            assert [item["id"] for item in items] == ([other.pk] if what == "GET sources" and not gone else []), what


def test_an_error_text_leads_a_token_to_sessions_of_its_sources_only(world: World) -> None:
    session = Session.objects.get(pk=world.ids["sid"])
    refused = Verdict.objects.filter(session=session, accepted=False).first()
    assert refused is not None
    body = {"error": refused.violations[0]["error"]}
    mine = bearer(world.owner, READ, sources=[session.source])

    assert [place["session"] for place in world.ask(mine, "POST locate", body).json()["places"]] == [session.pk]
    other = bearer(world.owner, READ, sources=[elsewhere("other")])
    found = world.ask(other, "POST locate", body).json()
    assert (found["places"], found["sessions"]) == ([], [])


def test_a_token_of_a_source_reaches_what_is_in_it(world: World) -> None:
    source = Source.objects.get(pk=world.ids["number"])
    asking = bearer(world.owner, *Scope, sources=[source])

    assert [item["id"] for item in asking.get("/api/v1/sessions").json()["items"]] == [world.ids["sid"]]
    assert [item["id"] for item in asking.get("/api/v1/bulk").json()["items"]] == [world.ids["batch"]]
    assert asking.get("/api/v1/repairs").json()["items"] == []
    started = world.ask(asking, "POST bulk", {"filter": {}})
    assert started.status_code == 202
    assert started.json()["total"] == 1


def given(world: World) -> dict[str, Any]:
    part = Part.objects.filter(session=world.ids["sid"]).first()
    now = timezone.now()
    view = SavedView.objects.create(name="v", query="health=blocked", created_at=now, owner=world.owner)
    pasted = PastedError.objects.create(key="k" * 22, text="x", created_at=now)
    token = ApiToken.objects.create(user=world.owner, name="mine", digest="x", created_at=now)
    return {
        "session_id": world.ids["sid"], "source_id": world.ids["number"], "part_id": part and part.pk,
        "public_id": Repair.objects.get().public_id, "number": world.ids["batch"], "index": 0, "form": "csv",
        "view_id": view.pk, "token_id": token.pk, "key": pasted.key,
    }  # fmt: skip


def ask_page(name: str, ids: dict[str, Any], client: Client) -> Any:
    pattern = next(item for item in urlpatterns if item.name == name)
    address = reverse(f"sessions_app:{name}", kwargs={key: ids[key] for key in pattern.pattern.converters})
    client.raise_request_exception = False
    return client.get(address) if WEB[name][0] == "GET" else client.post(address)


def test_a_page_is_refused_to_whoever_lacks_its_permission(world: World) -> None:
    ids = given(world)
    browsers = {role: signed_in(user(role)) for role in ROLES}
    for name, (_, needed) in WEB.items():
        turned_away = ask_page(name, ids, Client())
        assert turned_away.status_code == 302, name
        assert turned_away["location"].startswith("/login/"), name
        for role, held in ROLES.items():
            if needed not in held:
                assert ask_page(name, ids, browsers[role]).status_code == 403, (name, role)


def shown_to_all(world: World, names: list[str]) -> None:
    ids = given(world)
    browsers = {role: signed_in(user(role)) for role in ROLES}
    for name in names:
        for role, held in ROLES.items():
            if WEB[name][1] in held:
                assert ask_page(name, ids, browsers[role]).status_code not in (401, 403, 500), (name, role)


def test_a_page_that_only_shows_is_shown_to_everybody_who_may(world: World) -> None:
    shown_to_all(world, [name for name, (method, _) in WEB.items() if method == "GET"])


@pytest.mark.parametrize("name", some_of([name for name, (method, _) in WEB.items() if method == "POST"], one_in=3))
def test_what_a_page_does_is_done_for_everybody_who_may(name: str, world: World) -> None:
    shown_to_all(world, [name])


def test_a_page_that_shows_to_viewers_writes_for_repairers_only(world: World) -> None:
    viewer = signed_in(user("viewer"))
    address = reverse("sessions_app:repair", args=[world.ids["sid"]])
    assert viewer.post(address).status_code == 403
    assert not Repair.objects.filter(session=world.ids["sid"]).exists()
