"""The sessions page's filter as parameters of an address."""

from __future__ import annotations

from typing import Any

from sessions_app.selectors.filterfields import BY_NAME, TEXT_LIMIT, Field

from .schemas import NO_NUL


def _parameter(field: Field, name: str) -> dict[str, Any]:
    one = {"type": "string", "enum": list(field.values)}
    schema: dict[str, dict[str, Any]] = {
        "text": {"type": "string", "maxLength": TEXT_LIMIT, "pattern": NO_NUL},
        "choice": one,
        "choices": {"type": "array", "items": one},
        "number": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1},
        "date": {"type": "string", "format": "date"},
    }
    return {
        "in": "query",
        "name": name,
        "required": False,
        "schema": schema[field.kind] | ({"default": field.default} if field.default else {}),
        **({"description": field.about} if field.about else {}),
    }


FILTER = {"parameters": [_parameter(field, name) for name, field in BY_NAME.items()]}
"""For ``openapi_extra``."""
