"""What a request may name: parameters and fields that the document lists. A name nobody knows is refused, so that a
misspelt one is not silently left out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.http import HttpRequest
from ninja import NinjaAPI

from sessions_app.domain.near import did_you_mean


@dataclass(frozen=True, slots=True)
class Known:
    """Names of an operation's query parameters, and of its body's fields."""

    query: tuple[str, ...] = ()
    body: tuple[str, ...] = ()


def known_to(api: NinjaAPI, request: HttpRequest) -> Known:
    """What the operation that a request goes to knows."""
    match = request.resolver_match
    path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", f"/{match.route}") if match is not None else ""
    return _table(api).get((request.method or "", path), Known())


@cache
def _table(api: NinjaAPI) -> dict[tuple[str, str], Known]:
    document = api.get_openapi_schema()
    schemas = document["components"]["schemas"]
    return {
        (method.upper(), path): Known(_query(operation), _body(operation, schemas))
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def _query(operation: dict[str, Any]) -> tuple[str, ...]:
    return tuple(item["name"] for item in operation.get("parameters", ()) if item["in"] == "query")


def _body(operation: dict[str, Any], schemas: dict[str, Any]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        shape = content["schema"]
        options = [shape, *shape.get("allOf", ()), *shape.get("anyOf", ())]
        for option in options:
            named = schemas[option["$ref"].rpartition("/")[2]] if "$ref" in option else option
            found |= dict.fromkeys(named.get("properties", ()))
    return tuple(found)


def strange_query(api: NinjaAPI, request: HttpRequest) -> list[dict[str, str]]:
    """A place and words for each parameter that the operation does not know."""
    known = known_to(api, request).query
    return [
        {"at": f"query/{name}", "what": f"unknown parameter {name}{did_you_mean(name, known)}"}
        for name in request.GET
        if name not in known
    ]
