"""No file imports one that imports it: not at its top, not inside a function, not for types alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sessions_app.domain.protocols import REGISTRY

ROOT = Path(__file__).parents[2]
PACKAGE = "sessions_app"

type Graph = dict[str, dict[str, int]]
"""Module -> the modules it imports, each with the line of its first import."""


@cache
def imports() -> Graph:
    files = {module_name(path): path for path in sorted((ROOT / PACKAGE).rglob("*.py"))}
    graph: Graph = {name: {} for name in files}
    for name, path in files.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for imported, line in imported_names(ast.parse(path.read_text()), package):
            found = nearest(imported, files)
            if found and found != name:
                graph[name].setdefault(found, line)
    for protocol in REGISTRY.values():  # imported by name, when a protocol is first used
        home = f"{PACKAGE}.domain.protocols"
        graph[home] |= {f"{home}.{protocol.package}.{module}": 0 for module in ("table", "rules", "v1", "v2")}
    return graph


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported_names(tree: ast.Module, package: str) -> Iterator[tuple[str, int]]:
    """Everything imported anywhere in a module, as dotted names that may end in a name inside a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)


def nearest(name: str, modules: dict[str, Path]) -> str:
    """The module that a dotted name lies in, "" where it is not ours."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def circles(graph: Graph) -> list[list[str]]:
    """A shortest circle through every module that is in one, each circle once."""
    found: dict[frozenset[str], list[str]] = {}
    for module in graph:
        circle = shortest(graph, module)
        if circle:
            found.setdefault(frozenset(circle), circle)
    return list(found.values())


def shortest(graph: Graph, start: str) -> list[str]:
    """The modules of the shortest way from ``start`` back to it, [] where there is none."""
    came: dict[str, str] = {}
    edge = [start]
    while edge:
        ahead = []
        for module in edge:
            for imported in graph[module]:
                if imported == start:
                    way = [module]
                    while way[-1] != start:
                        way.append(came[way[-1]])
                    return way[::-1]
                if imported not in came:
                    came[imported] = module
                    ahead.append(imported)
        edge = ahead
    return []


def in_words(graph: Graph, circle: list[str]) -> str:
    steps = zip(circle, [*circle[1:], circle[0]], strict=True)
    return ", ".join(f"{one} (line {graph[one][other]}) imports {other}" for one, other in steps)


def test_no_file_imports_one_that_imports_it() -> None:
    graph = imports()
    found = [in_words(graph, circle) for circle in circles(graph)]
    assert not found, "circles of imports:\n" + "\n".join(found)


def test_a_circle_is_found_wherever_its_imports_stand() -> None:
    text = "def f():\n    from sessions_app.b import x\nif TYPE_CHECKING:\n    from .c import y\n"
    assert list(imported_names(ast.parse(text), "sessions_app")) == [("sessions_app.b.x", 2), ("sessions_app.c.y", 4)]
    graph: Graph = {"a": {"b": 1}, "b": {"c": 2, "d": 3}, "c": {"a": 4}, "d": {}}
    assert [in_words(graph, circle) for circle in circles(graph)] == [
        "a (line 1) imports b, b (line 2) imports c, c (line 4) imports a"
    ]
