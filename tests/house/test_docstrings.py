"""What a name of the domain means can be read there: every public module, class, function and method says it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

DOMAIN = Path(__file__).parents[2] / "sessions_app" / "domain"

type Definition = ast.ClassDef | ast.FunctionDef


def definitions(tree: ast.Module) -> Iterator[tuple[str, Definition]]:
    """Public names of the module, and what callers may use of its public classes."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, node
            if isinstance(node, ast.ClassDef):
                yield from ((f"{node.name}.{inner.name}", inner) for inner in members(node))


def members(cls: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """Public methods and properties of a class."""
    for inner in cls.body:
        if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
            yield inner


def promised(trees: Iterable[ast.Module]) -> set[str]:
    """Methods that a ``Protocol`` or an abstract class describes: who implements one need not say it again."""
    return {
        method.name
        for tree in trees
        for cls in tree.body
        if isinstance(cls, ast.ClassDef)
        for method in members(cls)
        if ast.get_docstring(method) is not None
        if any(ast.unparse(base).startswith(("Protocol", "ABC")) for base in cls.bases)
        or any(ast.unparse(one) == "abstractmethod" for one in method.decorator_list)
    }


def is_rule(node: Definition) -> bool:
    """What a rule means stands in its text file."""
    return any(isinstance(one, ast.Call) and ast.unparse(one.func) == "rule" for one in node.decorator_list)


def untold() -> list[str]:
    trees = {path.relative_to(DOMAIN).as_posix(): ast.parse(path.read_text()) for path in sorted(DOMAIN.rglob("*.py"))}
    known = promised(trees.values())
    found = [module for module, tree in trees.items() if ast.get_docstring(tree) is None]
    for module, tree in trees.items():
        for name, node in definitions(tree):
            _, dot, method = name.partition(".")
            if ast.get_docstring(node) is None and not (dot and method in known) and not is_rule(node):
                found.append(f"{module}: {name}")
    return found


def test_every_public_name_of_the_domain_says_what_it_means() -> None:
    assert untold() == []
