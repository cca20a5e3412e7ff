"""What the real client sent down each of its ways to a provider is written again, for every package
(docs/contract/wire.md#6.9)."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from sessions_app.domain.bodies import body
from sessions_app.domain.knownmodels import KnownModel
from sessions_app.domain.lowering.v1_packages import VERIFIED
from sessions_app.domain.wire.lowered import LoweringError
from sessions_app.domain.wire.target import make_target
from tests.client.recorder import history, without_marks
from tests.each import for_each
from tests.factories.ways import OWN_SESSIONS, SESSIONS, WAYS, recorded, session_of
from tests.paths import DATA

ENTRIES = [f"{way} {session}" for way in WAYS for session in SESSIONS]
TABLE = re.findall(
    r"^\| `([^`]+)` \| ([a-z-]+) \| (\d+) \| 1\.18\.33",
    (DATA.parents[1] / "docs/contract/wire.md").read_text(),
    re.MULTILINE,
)


def written(way: str, session: str) -> Any:
    try:
        made = body(session_of(session, WAYS[way]), WAYS[way].target, repairs=False, next_prompt="continue")
    except LoweringError as error:
        assert error.origin is not None and error.origin.message
        return {"error": error.words}
    assert made.verified
    for path, origin in made.provenance.items():
        at: Any = made.body
        for step in path:
            at = at[step]
        assert isinstance(at, dict), (path, origin)
    return without_marks(history(json.loads(json.dumps(made.body))))


@for_each("entry", ENTRIES, one_in=16)
def test_the_recorded_request_is_written_again(entry: str) -> None:
    way, _, session = entry.partition(" ")
    sent, got = recorded()[way, session]["sent"], written(way, session)
    if isinstance(sent, dict):
        assert got.keys() == {"error"}
        assert got["error"] in sent["error"]
    else:
        # Texts, so that 1 and 1.0 and true are not the same.
        assert json.dumps(got, sort_keys=True) == json.dumps(sent, sort_keys=True)


def test_every_way_has_every_recording_and_the_client_is_the_measured_one() -> None:
    assert {(entry["way"], entry["session"]) for entry in recorded().values()} == {
        (way, session) for way in WAYS for session in SESSIONS
    }
    assert {entry["client"] for entry in recorded().values()} == {"1.18.33"}


def test_the_page_names_what_is_verified_with_how_many_recordings() -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for way in WAYS.values():
        counts[way.package, way.protocol] += len(SESSIONS)
    assert {(package, protocol): int(count) for package, protocol, count in TABLE} == counts
    assert counts.keys() == VERIFIED


@for_each("name", [name for name in WAYS if not name.startswith(("own-", "compatible/", "deepseek/", "azure/gpt-4"))])
def test_a_way_of_the_client_is_the_target_that_suture_makes(name: str) -> None:
    """The others are reached only by what the client's configuration says."""
    way = WAYS[name]
    made = make_target(way.provider, way.model, "on")
    assert (made.package, made.protocol) == (way.package, way.protocol)


@for_each("name", WAYS)
def test_the_package_in_the_configuration_leads_the_same_way(name: str) -> None:
    way = WAYS[name]
    known = KnownModel(way.package, completions=bool(way.model_config.get("options")), by="configuration")
    made = make_target(way.provider, way.model, "on", known=known)
    assert (made.package, made.protocol) == (way.package, way.protocol)


def test_no_recording_holds_the_clients_own_prompt() -> None:
    for entry in recorded().values():
        text = json.dumps(entry["sent"])
        assert "<system-reminder>" not in text and "You are opencode" not in text
    assert len(OWN_SESSIONS) > 15
