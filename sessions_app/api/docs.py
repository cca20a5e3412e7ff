"""The API's page for people, made from its own OpenAPI document on the server: nothing is loaded from elsewhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from .app import api


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    where: str
    kind: str
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
    answers: tuple[tuple[str, str, str], ...]
    """Status, words, kind of the answer."""


@dataclass(frozen=True, slots=True)
class Schema:
    name: str
    meaning: str
    fields: tuple[Field, ...]


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    document = api.get_openapi_schema()
    groups: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tag = (operation.get("tags") or ["other"])[0]
            groups.setdefault(tag, []).append(_operation(path, method, operation))
    context = {"api": api, "groups": groups, "schemas": _schemas(document)}
    return render(request, "api/docs.html", context)


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


def _kind(shape: dict[str, Any]) -> str:
    """A schema in a few words: ``SessionOut``, ``list of string``, ``"safe" or "lossy"``."""
    if "$ref" in shape:
        return str(shape["$ref"]).rpartition("/")[2]
    if "enum" in shape:
        return " or ".join(json.dumps(value) for value in shape["enum"])
    if "const" in shape:
        return json.dumps(shape["const"])
    for word in ("anyOf", "oneOf", "allOf"):
        if word in shape:
            return " or ".join(dict.fromkeys(_kind(option) for option in shape[word]))
    if shape.get("type") == "array":
        return f"list of {_kind(shape.get('items', {})) or 'anything'}"
    return str(shape.get("format") or shape.get("type") or "")
