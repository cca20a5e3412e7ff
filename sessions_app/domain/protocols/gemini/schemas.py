"""What Gemini's schema dialect refuses in tool definitions (G14)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sessions_app.domain.protocols.checking import Pointer, objects


def faults(body: dict[str, Any]) -> Iterator[tuple[Pointer, str, str]]:
    """Pointer, kind and name of each schema fault: arrays without ``items``, ``enum`` on other than strings,
    ``required`` names without a property (which alone have a name)."""
    for place, tool in enumerate(objects(body.get("tools"))):
        for index, declaration in enumerate(objects(tool.get("functionDeclarations"))):
            start: Pointer = ("tools", place, "functionDeclarations", index, "parameters")
            yield from _schema(declaration.get("parameters"), start)


def _schema(root: Any, start: Pointer) -> Iterator[tuple[Pointer, str, str]]:
    stack: list[tuple[Any, Pointer]] = [(root, start)]
    while stack:
        schema, at = stack.pop()
        if not isinstance(schema, dict):
            continue
        kind = str(schema.get("type", "")).lower()
        if kind == "array" and "items" not in schema:
            yield at, "items", ""
        if "enum" in schema and kind != "string":
            yield at, "enum", ""
        properties = schema.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        for name in required if isinstance(required, list) else ():
            if name not in properties:
                yield at, "required", str(name)
        stack.extend((member, (*at, "properties", name)) for name, member in properties.items())
        if "items" in schema:
            stack.append((schema["items"], (*at, "items")))
