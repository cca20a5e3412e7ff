"""A part that is read later is what it would have been if it had been read at once; and a session of such parts is
scanned alike."""

from __future__ import annotations

import copy
import math
import pickle
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given

from sessions_app.domain import dialects, jsjson
from sessions_app.domain.dialects import opencode_v1
from sessions_app.domain.dialects.unread import UnreadTool, unread_part
from sessions_app.domain.model import V1, Message, Part, ReasoningPart, Session, SessionRows, StepFinishPart, ToolPart
from sessions_app.domain.scan import as_document, scan
from sessions_app.domain.storedtexts import measured
from sessions_app.domain.wire.target import Target
from tests.factories.histories import histories
from tests.properties.histories import v1_sessions

OUTPUT = (
    '{"type":"tool","callID":"call_1","tool":"read","state":{"status":"completed","input":{"a":1.0},'
    '"output":"text","title":"","metadata":{},"time":{"start":1,"end":2}}}'
)


@contextmanager
def at_once() -> Iterator[None]:
    """Everything is read when it is decoded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opencode_v1, "unread_part", lambda row, index: None)
        patch.setattr(opencode_v1, "plain_message", lambda raw: None)
        yield


def said(one: Part | Message) -> dict[str, Any]:
    """All that can be asked of it, the parts of a message apart."""
    told = {each.name: getattr(one, each.name) for each in fields(one) if each.name not in ("parts", "row")}
    if isinstance(one, Part):
        told |= {"provider_state": one.provider_state, "size": one.size}
    if isinstance(one, ReasoningPart):
        told["signed"] = one.signed
    if isinstance(one, ToolPart):
        told |= {name: getattr(one, name) for name in ("executed", "attached", "plain_input")}
    if isinstance(one, StepFinishPart):
        told["counts"] = one.counts
    # As text too: 1 and 1.0 are equal, and are not written alike.
    return {name: (value, repr(value)) for name, value in told.items()}


def compared(rows: SessionRows) -> Counter[str]:
    later = dialects.decode(rows)
    with at_once():
        now = dialects.decode(rows)
    assert document(later) == document(now)
    later = dialects.decode(rows)
    assert (later.faults, measured(later)) == (now.faults, measured(now))
    told: Counter[str] = Counter()
    for one, other in zip(later.history(V1), now.history(V1), strict=True):
        assert said(one) == said(other)
        for part, whole in zip(one.parts, other.parts, strict=True):
            later_ones = type(part) is not type(whole)
            assert isinstance(part, type(whole))
            assert said(part) == said(whole)
            told["later" if later_ones else "at once"] += 1
    return told


def document(session: Session) -> Any:
    return as_document(session, scan(session))


def test_of_every_history(pytestconfig: pytest.Config) -> None:
    total: Counter[str] = Counter()
    failed = []
    listed = histories() if pytestconfig.getoption("everything") else histories(one_in=40)
    for history in listed:
        try:
            total += compared(history.session().rows)
        except AssertionError as error:
            failed.append(f"{history}: {error}")
    print(f"{len(listed)} histories: {total['later']} parts read later, {total['at once']} at once")
    assert not failed, "\n".join(failed[:20])
    assert total["later"] > 200


@given(v1_sessions())
def test_of_random_histories(made: tuple[Session, Target]) -> None:
    compared(made[0].rows)


class TestOne:
    @pytest.fixture
    def tool(self) -> ToolPart:
        part = unread_part({"id": "prt_1", "message_id": "msg_1", "data": OUTPUT}, 0)
        assert type(part) is UnreadTool
        return part

    def test_its_arguments_are_in_javascript_form(self, tool):
        assert repr(tool.input) == "{'a': 1}"
        assert tool.data == jsjson.loads(OUTPUT)

    def test_its_arguments_hold_numbers_beyond_a_double(self):
        part = unread_part({"id": "prt_1", "data": OUTPUT.replace("1.0", "1e999")}, 0)

        assert type(part) is UnreadTool
        assert part.input == {"a": math.inf}

    def test_a_changed_one_is_an_ordinary_part(self, tool):
        changed = replace(tool, input=[], index=4)

        assert type(changed) is ToolPart
        assert (changed.index, changed.plain_input, changed.status) == (4, False, "completed")

    def test_a_copy_is_an_ordinary_part(self, tool):
        for one in (copy.copy(tool), copy.deepcopy(tool), pickle.loads(pickle.dumps(tool))):
            assert type(one) is ToolPart
            assert said(one) == said(tool)

    @pytest.mark.parametrize(
        ("there", "instead"),
        [
            ('"status":"completed",', ""),
            ('"output":"text"', '"output":{"text":1}'),
            ('"output":"text"', '"output":"\\u0000"'),
            ('"output":"text"', '"output":"\\ud83d"'),
            ('"metadata":{}', '"metadata":{},"attachments":[]'),
            ('"end":2', '"end":2,"compacted":3'),
            ('"end":2', '"end":-2'),
            ('{"a":1.0}', '{"value":"{}"}'),
            ('{"a":1.0}', '{"a<b":1}'),
            ('{"a":1.0}', "[]"),
            ('"tool":"read"', '"tool":"read","metadata":{"providerExecuted":true}'),
            ('"tool":"read"', '"tool":"read","metadata":{"2":{},"1":{}}'),
            ('"tool":"read"', '"tool":null'),
            ("}}}", "}}"),
        ],
    )
    def test_an_odd_one_is_read_at_once(self, there, instead):
        assert there in OUTPUT
        assert unread_part({"id": "prt_1", "data": OUTPUT.replace(there, instead)}, 0) is None
