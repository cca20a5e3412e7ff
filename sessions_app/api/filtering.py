"""The sessions page's filter as parameters of an address."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.http import QueryDict

from sessions_app.selectors.filterfields import FIELDS, TEXT_LIMIT, Field
from sessions_app.selectors.filters import FilterRefused, SessionFilter

from .problems import Problem
from .schemas import NO_NUL


def filter_of(query: QueryDict, *, also: Collection[str]) -> SessionFilter:
    """The filter that a query string asks for; ``also`` names the address's other parameters."""
    try:
        return SessionFilter.understood(query, also=also)
    except FilterRefused as refusal:
        places = [{"at": f"query/{fault.name}", "what": f"not understood: {fault.words}"} for fault in refusal.faults]
        raise Problem(422, str(refusal), errors=places) from refusal


def _parameter(field: Field) -> dict[str, Any]:
    name = {"type": "string", "enum": list(field.values)}
    schema: dict[str, dict[str, Any]] = {
        "text": {"type": "string", "maxLength": TEXT_LIMIT, "pattern": NO_NUL},
        "choice": name,
        "choices": {"type": "array", "items": name},
        "number": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1},
        "date": {"type": "string", "format": "date"},
    }
    return {
        "in": "query",
        "name": field.alias or field.name,
        "required": False,
        "schema": schema[field.kind] | ({"default": field.default} if field.default else {}),
        **({"description": field.about} if field.about else {}),
    }


FILTER = {"parameters": [_parameter(field) for field in FIELDS]}
"""For ``openapi_extra``."""
