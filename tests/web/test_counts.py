"""The counts of the list are those of the session's page."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessions_app.models import Session
from sessions_app.selectors.outline import session_outline
from tests.factories.corpus import attached, copied

NAMES = [
    "compact_ok",
    "compact_tail_split@1.17.11",
    "v1_subtask_done_chat",
    "v1_unknown_part_chat",
    "v1_first_assistant_chat",
    "dup_id_slow",
]


@pytest.mark.django_db
@pytest.mark.parametrize("name", NAMES)
def test_turns_and_parts_are_as_many_in_the_list_as_on_the_sessions_page(
    tmp_path: Path, data_dir: Path, name: str
) -> None:
    for session in Session.objects.filter(source=attached(copied(name, tmp_path))):
        outline = session_outline(session)
        assert session.turn_count == len(outline.turns)
        assert session.part_count == outline.stored + len(outline.orphans)
