"""The API's page for people, made from its own OpenAPI document on the server: nothing is loaded from elsewhere."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from .app import api

OPENED = 3
"""Operations and schemas of a search that are shown open."""


@dataclass(frozen=True, slots=True)
class Field:
    """``kind`` is a schema in a few words, of which those that are schemas of their own are links."""

    name: str
    where: str
    kind: SafeString
    required: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class Operation:
    id: str
    method: str
    path: str
    summary: str
    description: str
    fields: tuple[Field, ...]
    answers: tuple[tuple[str, str, SafeString], ...]
    """Status, words, kind of the answer."""

    @property
    def said(self) -> str:
        return f"{self.method} {self.path} {self.summary} {self.description} {_names(self.fields)}"


@dataclass(frozen=True, slots=True)
class Schema:
    name: str
    meaning: str
    fields: tuple[Field, ...]

    @property
    def said(self) -> str:
        return f"{self.name} {self.meaning} {_names(self.fields)}"


def _names(fields: tuple[Field, ...]) -> str:
    return " ".join(f"{field.name} {field.meaning}" for field in fields)


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Operations by group, closed; a search leaves those that hold every word of it."""
    asked = request.GET.get("q", "").strip()[:200]
    words = asked.lower().split()
    document = api.get_openapi_schema()
    groups: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            found = _operation(path, method, operation)
            if _holds(found.said, words):
                groups.setdefault((operation.get("tags") or ["other"])[0], []).append(found)
    schemas = [schema for schema in _schemas(document) if _holds(schema.said, words)]
    count = sum(map(len, groups.values())) + len(schemas)
    context = {"api": api, "groups": groups, "schemas": schemas, "asked": asked, "count": count}
    context["open"] = bool(asked) and count <= OPENED
    live = request.headers.get("HX-Target") == "api-found"
    response = render(request, "api/docs.html#found" if live else "api/docs.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _holds(said: str, words: list[str]) -> bool:
    return all(word in said.lower() for word in words)


def _operation(path: str, method: str, operation: dict[str, Any]) -> Operation:
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation.get("summary", ""),
        description=operation.get("description", ""),
        fields=(*_parameters(operation), *_body(operation)),
        answers=tuple(
            (str(status), answer.get("description", ""), _kind(_content(answer)))
            for status, answer in operation["responses"].items()
        ),
    )


def _parameters(operation: dict[str, Any]) -> tuple[Field, ...]:
    return tuple(
        Field(
            item["name"],
            item["in"],
            _kind(item["schema"]),
            item.get("required", False),
            item["schema"].get("description", ""),
        )
        for item in operation.get("parameters", [])
    )


def _body(operation: dict[str, Any]) -> tuple[Field, ...]:
    body = operation.get("requestBody")
    return (Field("body", "body", _kind(_content(body)), body.get("required", False), ""),) if body else ()


def _schemas(document: dict[str, Any]) -> tuple[Schema, ...]:
    found = document.get("components", {}).get("schemas", {})
    return tuple(
        Schema(name, shape.get("description", ""), _properties(shape)) for name, shape in sorted(found.items())
    )


def _properties(shape: dict[str, Any]) -> tuple[Field, ...]:
    required = shape.get("required", [])
    return tuple(
        Field(name, "", _kind(item), name in required, item.get("description", ""))
        for name, item in shape.get("properties", {}).items()
    )


def _content(holder: dict[str, Any]) -> dict[str, Any]:
    for content in holder.get("content", {}).values():
        shape: dict[str, Any] = content.get("schema", {})
        return shape
    return {}


def _kind(shape: dict[str, Any]) -> SafeString:
    words = re.split(r"(#\w+)", _words(shape))
    return format_html_join(
        "",
        "{}",
        ((format_html('<a href="#schema-{0}">{0}</a>', word[1:]) if n % 2 else word,) for n, word in enumerate(words)),
    )


def _words(shape: dict[str, Any]) -> str:
    """A schema in a few words: ``#SessionOut``, ``list of string``, ``"safe" or "lossy"``."""
    if "$ref" in shape:
        return f"#{str(shape['$ref']).rpartition('/')[2]}"
    if "enum" in shape:
        return " or ".join(json.dumps(value) for value in shape["enum"])
    if "const" in shape:
        return json.dumps(shape["const"])
    for word in ("anyOf", "oneOf", "allOf"):
        if word in shape:
            return " or ".join(dict.fromkeys(_words(option) for option in shape[word]))
    if shape.get("type") == "array":
        return f"list of {_words(shape.get('items', {})) or 'anything'}"
    return str(shape.get("format") or shape.get("type") or "")
