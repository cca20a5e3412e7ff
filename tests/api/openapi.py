"""The committed OpenAPI document: ``python -m tests.api.openapi`` writes it anew after a change that was meant."""

from __future__ import annotations

import json
import os
from pathlib import Path

COMMITTED = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


def current() -> str:
    from sessions_app.api.app import api

    return json.dumps(api.get_openapi_schema(path_prefix="/api/v1/"), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sessions_app.settings")
    import django

    django.setup()
    COMMITTED.write_text(current(), encoding="utf-8")
