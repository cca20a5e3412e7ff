"""A session of 1.x in the rows of 2.x: nothing that its next request says is missing, and what has no place is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sessions_app.domain import dialects, jsjson
from sessions_app.domain.handback.newline import NewLine
from sessions_app.domain.lowering import lower
from sessions_app.domain.lowering.v1 import ATTACHED, CLEARED, COMPACTION, INTERRUPTED
from sessions_app.domain.model import V1, V2, Session, SessionRows
from sessions_app.domain.wire.lowered import CanonicalMessage, LoweringError
from sessions_app.domain.wire.target import infer_target
from sessions_app.stores import open_store
from tests.each import for_each, stem
from tests.factories.sessions import V1 as Made
from tests.factories.sessions import reasoning, text, tool
from tests.paths import CORPUS

OWN_WORDS = (COMPACTION, INTERRUPTED, ATTACHED, CLEARED)
"""What the old client says itself, and the new one in other words."""


def taken_over(session: Session) -> tuple[Session, NewLine]:
    """The session as 2.x would read the export."""
    line = NewLine(session)
    rows = [
        {
            "id": made.id,
            "session_id": session.id,
            "type": made.type,
            "seq": number,
            "time_created": made.data["time"]["created"],
            "time_updated": 0,
            "data": jsjson.dumps(made.data),
        }
        for number, made in enumerate(line.messages())
    ]
    return dialects.decode(replace(SessionRows(session.rows.session), session_message=rows)), line


def said(messages: list[CanonicalMessage]) -> Iterator[str]:
    """What a request says, whatever the message it stands in: texts, calls, outputs."""
    for block in (block for message in messages for block in message["content"]):
        if block["type"] in ("text", "reasoning"):
            yield block["text"]
        elif block["type"] == "tool-call":
            yield jsjson.dumps([block["id"], block["name"], block.get("input")])
        elif block["type"] == "tool-result":
            value = block["result"]["value"]
            texts = [one.get("text", "") for one in value] if isinstance(value, list) else [value]
            yield from (text for text in texts if isinstance(text, str))
            if isinstance(value, dict):
                yield value["error"]["message"]


@for_each("path", sorted(CORPUS.glob("*.db")), name=stem, one_in=3)
def test_everything_that_was_sent_is_sent_by_2x_or_told(path: Any) -> None:
    with open_store(path) as store:
        for rows in store.read_all():
            session = dialects.decode(rows)
            target = infer_target(session)
            if session.history(V2) or not session.history(V1) or session.revert or target is None:
                continue
            new, line = taken_over(session)
            assert not new.faults
            told = {one.id for one in line.left}
            assert {one.id for one in session.history(V1)} <= {
                one.id for one in new.history(V2)
            } | told | line.summaries
            if told:
                continue
            try:
                before = said(lower(session, target).messages)
            except LoweringError:
                continue  # the old client stops there
            after = "\n".join(said(lower(new, target).messages))
            assert [words for words in before if words.strip() not in after and words not in OWN_WORDS] == []


def test_the_tail_that_a_compaction_keeps_stands_behind_it() -> None:
    made = Made().user("one").assistant("first").user("two").assistant("second")
    made.user({"type": "compaction", "auto": True, "tail_start_id": "msg_0003"})
    made.assistant("the story", summary=True).user("three")
    new, _ = taken_over(made.decoded())
    assert [one.id for one in new.history(V2)] == [
        *("msg_0001", "msg_0002", "msg_0005", "msg_0003", "msg_0004", "msg_0007")
    ]


def test_state_of_the_provider_goes_where_2x_looks_for_it() -> None:
    made = Made().user("go").assistant(reasoning("hm", "c2ln"), tool("call_1"))
    new, line = taken_over(made.decoded())
    thought, call = new.history(V2)[1].parts
    assert thought.data["state"] == {"signature": "c2ln"}
    assert (call.data["id"], call.data["state"]["content"]) == ("call_1", [{"type": "text", "text": "done"}])
    assert line.left == []


def test_what_the_client_added_to_a_prompt_stands_behind_it_and_files_keep_their_bytes() -> None:
    png = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA", "filename": "a.png"}
    away = {"type": "file", "mime": "image/png", "url": "https://example.org/b.png"}
    new, _ = taken_over(Made().user("look", text("read it", synthetic=True), png, away).decoded())
    prompt, added = new.history(V2)
    assert prompt.data["text"] == "look\n\nAttached file: https://example.org/b.png"
    assert prompt.data["files"] == [
        {"data": "AAAA", "mime": "image/png", "source": {"type": "inline"}, "name": "a.png"}
    ]
    assert (added.kind, added.data["text"]) == ("synthetic", "read it")


def test_what_has_no_place_is_told_and_nothing_is_made_up() -> None:
    odd = Made().user("go").assistant({"type": "novelty"}, tool("call_1", output=5), "done")
    new, line = taken_over(odd.decoded())
    assert [one.id for one in line.left] == ["prt_0002_01", "prt_0002_02"]
    assert [part.kind for part in new.history(V2)[1].parts] == ["text"]
