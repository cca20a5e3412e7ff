"""The bench measures every line of its table, and tells what became slower."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from bench import results
from bench.figures import Figure, Table
from bench.results import Result, put, slower


def _result(**ratios: float) -> Result:
    figures = [Figure(key, f"work {key}", ratio * 2, "ms", None, ratio) for key, ratio in ratios.items()]
    return {"figures": [asdict(figure) for figure in figures]}


def test_over_a_quarter_more_of_the_floor_is_told_and_less_is_not() -> None:
    then = _result(scan=4.0, list=1.0, gone=1.0)

    told = slower(_result(scan=5.1, list=1.2, fresh=9.0), then)

    assert told == ["work scan: 10.20 ms, was 8.00 (1.27 times the stored ratio)"]


def test_a_rate_is_reached_from_above_and_a_time_from_below() -> None:
    assert Figure("canonical", "", 100_000, "items/s", 100_000, 1).reached
    assert not Figure("canonical", "", 99_999, "items/s", 100_000, 1).reached
    assert Figure("list", "", 100, "ms", 100, 1).reached
    assert not Figure("list", "", 101, "ms", 100, 1).reached
    assert Figure("import.whole", "", 101, "x copy", None, 1).reached is None


def test_lines_of_a_page_are_put_in_the_place_of_those_before(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\nWords.\n")

    put("one", ["first"], page)
    put("two", ["second"], page)
    put("one", ["third"], page)

    said = [line for line in page.read_text().splitlines() if line and not line.startswith("<!--")]
    assert said == ["# Page", "Words.", "third", "second"]


@pytest.mark.exhaustive
def test_every_line_is_measured_of_two_working_copies_and_compared(tmp_path: Path) -> None:
    raw = tmp_path / "raw.json"
    command = [sys.executable, "-m", "bench", "--size", "small", "--against", ".", "--compare", "--raw", str(raw)]

    ran = subprocess.run(command, cwd=results.ROOT, capture_output=True, text=True)

    assert ran.returncode == 2, ran.stderr[-3000:]  # of this size nothing is stored
    assert "Nothing is stored for sqlite-small." in ran.stdout
    measured = json.loads(raw.read_text())
    figures, before = (list(Table(measured[name], "cpu").figures()) for name in ("now", "before"))
    assert [one.key for one in figures] == [one.key for one in before]
    assert all(one.value > 0 for one in figures), figures
    assert all(f"| {one.work} | " in ran.stdout for one in figures)
