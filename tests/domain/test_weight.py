"""What a session weighs, told by its rows alone."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.domain.model import Session
from sessions_app.domain.weight import (
    BARS,
    HEAVY,
    LARGE,
    MANY_PARTS,
    Piece,
    Weight,
    in_bytes,
    is_heavy,
    named,
    session_pieces,
    ways,
    weigh,
)
from tests.factories.sessions import V1, V2, finish, scanned, start, text, tool


def weighed(session: Session) -> Weight:
    return weigh(session_pieces(session), sum(len(message.parts) for message in session.messages))


def changed(size: int) -> dict[str, Any]:
    return {"file": "a.js", "patch": "+" * size, "additions": 1, "deletions": 0}


def test_every_character_of_its_rows_is_told_once_by_turn_and_by_kind() -> None:
    history = V1().user("go", summary={"title": "t", "diffs": [changed(50_000)]})
    history.assistant(start(), text("x" * 3_000), tool("c1", output="o" * 90_000), finish("stop"))
    history.user("look").assistant(start(), tool("c2", output="small"), finish("stop"))
    session = history.decoded()

    weight = weighed(session)

    rows = [*session.rows.messages, *session.rows.parts]
    assert weight.size == sum(len(row["data"]) for row in rows) == sum(weight.kinds.values())
    assert [turn.first for turn in weight.turns] == [1, 2]
    assert sum(turn.size for turn in weight.turns) == weight.size
    assert 90_000 < weight.turns[0].kinds["tool"] < 90_600
    assert 50_000 < weight.kinds["diffs"] < 50_600
    assert 3_000 < weight.kinds["text"] < 3_300
    assert [str(one.place) for one in named(weight, session)][:2] == ["bash call, turn 1", "user message, turn 1"]


def test_files_of_a_result_are_told_apart_from_its_output() -> None:
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64," + "A" * 400_000}
    quoted = tool("c2", output='they wrote "attachments":[{ there' + "o" * 70_000)
    history = V1().user("look").assistant(start(), tool("c1", attachments=[picture]), quoted, finish("stop"))

    kinds = weighed(history.decoded()).kinds

    assert 400_000 < kinds["media"] < 400_200
    assert 70_000 < kinds["tool"] < 71_000


def test_of_a_v2_answer_its_items_and_the_rest_of_its_row_are_the_row() -> None:
    session = V2().user("go").assistant(text("x" * 5_000)).decoded()

    weight = weighed(session)

    assert weight.size == sum(len(row["data"]) for row in session.rows.session_message)
    assert weight.kinds["text"] > 5_000


def test_a_heavy_session_says_how_much_of_it_is_in_what() -> None:
    sound = weigh([Piece(1, "tool", HEAVY - 1, "a")], 3)
    heavy = weigh([Piece(1, "tool", HEAVY, "a"), Piece(2, "media", LARGE, "b"), Piece(3, "tool", LARGE - 1, "c")], 3)

    assert (sound.heavy, sound.sentence) == (False, "")
    assert heavy.sentence == "Heavy: 15.8 MB, of it 15.3 MB in 1 tool call"
    assert [piece.at for piece in heavy.heaviest] == ["a", "b", "c"]
    assert heavy.large == {"tool": (1, HEAVY), "media": (1, LARGE)}


def test_what_is_small_beside_the_rest_is_not_named() -> None:
    small = [Piece(2, "tool", 30_000, f"s{number}") for number in range(9)]

    assert [piece.at for piece in weigh([Piece(1, "tool", HEAVY, "a"), *small], 10).heaviest] == ["a"]
    assert len(weigh(small, 9).heaviest) == 9


def test_so_many_parts_are_heavy_however_small() -> None:
    assert weigh([Piece(1, "text", 10, "a")], MANY_PARTS).sentence == "Heavy: 5,000 parts and 10 bytes"
    assert not is_heavy(10, MANY_PARTS - 1)


def test_more_turns_than_bars_share_bars_and_lose_nothing() -> None:
    turns = [Piece(turn, "text", turn, f"p{turn}") for turn in range(1, 5 * BARS + 2)]
    weight = weigh([Piece(0, "diffs", 7, ""), *turns], 1)

    outside, *bars = weight.bars()

    assert (outside.called, outside.size) == ("outside every turn", 7)
    assert len(bars) <= BARS
    assert sum(bar.size for bar in bars) == weight.size - 7
    assert (bars[0].called, bars[-1].last) == ("turns 1 to 6", 5 * BARS + 1)


def test_the_ways_are_those_of_the_findings_that_make_rows_smaller() -> None:
    history = V1().user("go", summary={"diffs": [changed(200_000)]})
    history.assistant(start(), tool("c1", output="o" * 300_000), tool("c2", output="o" * 280_000), finish("stop"))
    history.user("on")

    found = scanned(history.decoded()).findings
    opened = ways((one.rule, one.key, one.details) for one in found)

    assert [(way.rule, way.choice, way.safety) for way in opened] == [
        ("huge-output", "truncate", "lossy"),
        ("huge-summary-diffs", "drop-patches", "safe"),
    ]
    assert [way.size for way in opened] == [580_000, 200_000]
    assert len(opened[0].findings) == 2
    for way in opened:
        names = {choice.name: choice.safety for one in found if one.key in way.findings for choice in one.choices}
        assert names[way.choice] == way.safety


@pytest.mark.parametrize(
    ("size", "words"), [(1, "1 byte"), (900, "900 bytes"), (1536, "1.5 KB"), (3 * 2**20, "3.0 MB"), (2**31, "2.0 GB")]
)
def test_sizes_are_written_as_pages_write_them(size: int, words: str) -> None:
    assert in_bytes(size) == words
