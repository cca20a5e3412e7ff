"""``suture search``: what stands in imported conversations."""

from __future__ import annotations

from typing import Any

from sessions_app.domain.secrets import masked, masked_deeply
from sessions_app.management import declared
from sessions_app.management.base import SutureCommand
from sessions_app.management.importbase import source_named
from sessions_app.management.printing import counted
from sessions_app.models import Session
from sessions_app.selectors.searching import Found, SessionHit, sessions_search
from sessions_app.services.database import database_prepare


class Command(declared.Search, SutureCommand):
    def run(self, *, words: list[str], source: list[str], limit: int, all: bool, json: bool, **options: Any) -> int:
        if limit < 1:
            raise ValueError(f"--limit {limit} is no number of sessions.")
        database_prepare()
        among = Session.objects.filter(source__in=[source_named(name) for name in source]) if source else None
        text = " ".join(" ".join(words).split())
        found = sessions_search(text, among=among, deep=all)
        hits = list(found.hits)
        while found.next is not None and len(hits) < limit:
            found = sessions_search(text, found.next, among=among, deep=all)
            hits += found.hits
        complete = not found.more and len(hits) <= limit
        if json:
            shown = [_document(hit) for hit in hits[:limit]]
            self.result(masked_deeply({"sessions": shown, "complete": complete, "unindexed": found.unindexed}))
            return 0
        self.out.rows([_line(hit) for hit in hits[:limit]], head=("Session", "Title", "Place", "Words"))
        if not complete:
            self.say(_what_is_left(found))
        elif not hits:
            self.say("No session holds that.")
        return 0


def _what_is_left(found: Found) -> str:
    if found.read < found.unindexed:
        left = counted(found.unindexed - found.read, "session")
        return f"{left} could not be looked at: the index is still being filled."
    return "There may be more: raise --limit."


def _line(item: SessionHit) -> tuple[str, ...]:
    hit = item.hit
    return item.row.stored_id, item.row.title, hit.at, masked(f"{hit.before}{hit.found}{hit.after}")


def _document(item: SessionHit) -> dict[str, Any]:
    row, hit = item.row, item.hit
    where = {"id": row.stored_id, "number": row.id, "source": row.source_name, "title": row.title}
    place = {"at": hit.at, "turn": hit.turn or None, "before": hit.before, "found": hit.found, "after": hit.after}
    return {**where, "health": row.health, **place}
