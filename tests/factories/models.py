"""Sources and sessions for tests of services."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from sessions_app.models import Session, Source
from sessions_app.services.counting import counted_as, counts_change

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def source(**fields) -> Source:
    return Source.objects.create(
        **{
            "kind": "sqlite",
            "origin": "attached",
            "name": "opencode.db",
            "path": "/data/opencode.db",
            "created_at": NOW,
            "updated_at": NOW,
        }
        | fields
    )


def session(of: Source, stored_id: str, **fields) -> Session:
    made = Session.objects.create(source=of, stored_id=stored_id, row=json.dumps({"id": stored_id}), **fields)
    counts_change(source_id=of.pk, came=counted_as(made))
    return made
