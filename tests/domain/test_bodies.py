"""What several targets share is the same as what each would get alone."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

from sessions_app.domain import dialects
from sessions_app.domain.bodies import Requests
from sessions_app.domain.judging import verdict, verdicts
from sessions_app.domain.model import Session
from sessions_app.domain.wire.lowered import BlockOrigins, LoweringError, Origin
from sessions_app.domain.wire.names import PROTOCOLS
from sessions_app.domain.wire.target import default_target, infer_target
from sessions_app.stores import open_store
from tests.each import for_each, stem
from tests.paths import CORPUS

STORES = sorted(CORPUS.glob("*.db"))


def sessions(path: Path) -> Iterator[Session]:
    with open_store(path) as store:
        for rows in store.read_all():
            yield dialects.decode(rows)


@for_each("path", STORES, name=stem, one_in=4)
def test_verdicts_from_one_lowering_are_those_of_a_lowering_each(path: Path) -> None:
    for session in sessions(path):
        own = infer_target(session)
        if own is None:
            continue
        for protocol, judged in verdicts(session, own).items():
            target = own if protocol == own.protocol else default_target(session, protocol)
            assert judged == verdict(session, target)


def test_no_writer_changes_the_messages_it_shares() -> None:
    """Kimi, Claude and DeepSeek rename calls, drop empty texts and move reasoning: each on its own copy."""
    seen = 0
    for path in STORES:
        for session in sessions(path):
            for model in ("mistral-large", "claude-x", "deepseek-x"):
                requests = Requests(session, next_prompt="continue")
                for protocol in PROTOCOLS:
                    target = default_target(session, protocol)
                    target = type(target)(protocol, target.provider, model, "on", target.package)
                    try:
                        before = copy.deepcopy(requests.lowered(target).messages)
                        requests.body(target)
                    except LoweringError:
                        continue
                    assert requests.lowered(target).messages == before
                    seen += 1
    assert seen > 100


def test_provenance_told_when_asked_is_a_mapping_of_every_block() -> None:
    blocks = [[Origin("m1", "p1"), Origin("m1", "p2")], [], [Origin("m2", "p3")]]
    told = BlockOrigins("messages", "content", blocks)
    assert told == {
        ("messages", 0): Origin("m1", ""),
        ("messages", 0, "content", 0): Origin("m1", "p1"),
        ("messages", 0, "content", 1): Origin("m1", "p2"),
        ("messages", 2): Origin("m2", ""),
        ("messages", 2, "content", 0): Origin("m2", "p3"),
    }
    assert len(told) == 5
    for absent in (
        ("messages", 1),
        ("messages", -1),
        ("messages", 3),
        ("messages", 0, "content", 2),
        ("input", 0),
    ):
        assert told.get(absent) is None
    named = BlockOrigins("messages", "content", blocks, [Origin("a", ""), Origin("b", ""), Origin("c", "")])
    assert named["messages", 1] == Origin("b", "")
