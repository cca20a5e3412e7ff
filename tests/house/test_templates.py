"""Templates and style sheets that a person can read: what no formatter holds.

A template says in a comment at its beginning what it is and which names it needs; these are the names that Django's own
parser finds in it, and an include passes exactly them, with ``only``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template import engines
from django.template.base import Node, Template, Variable
from django.template.defaulttags import ForNode, WithNode
from django.template.loader_tags import IncludeNode

HOME = settings.BASE_DIR / "templates"
TEMPLATES = sorted(HOME.rglob("*.html"))
STYLES = sorted((settings.BASE_DIR / "static" / "css").rglob("*.css"))
NEEDS = re.compile(
    r"^(?:\{% (?:load|extends) [^%]+ %\}\s*)*\{% comment %\}(?:(?!endcomment).)*?\bNeeds: (.*?)\{% endcomment %\}", re.S
)
SHELL = "; and the shell's"
TAG = re.compile(r"\{%(?:(?!%\}).)*%\}|\{\{.*?\}\}")

IF, VALUE = "\x01", "\x02"


def needs(path: Path) -> set[str]:
    """The names in the comment, without what it says of their fields."""
    found = NEEDS.match(path.read_text())
    assert found, "it does not begin with {% comment %}What it is. Needs: a, b.{% endcomment %}"
    names = re.sub(r"\s*\([^()]*\)", "", found[1]).split(SHELL)[0].strip().rstrip(".")
    own = set() if names == "nothing" else set(re.split(r",\s*", names))
    return own | needs(HOME / "sessions" / "shell.html") if SHELL in found[1] else own


def parsed(path: Path) -> Template:
    return Template(path.read_text(), engine=engines["django"].engine)  # type: ignore[attr-defined]


def walk(thing: Any, bound: frozenset[str] = frozenset()) -> Iterator[tuple[Any, frozenset[str]]]:
    """Every node and variable below, each with the names that loops and ``with`` around it bind."""
    if isinstance(thing, Node | Variable):
        yield thing, bound
    if isinstance(thing, list | tuple):
        for item in thing:
            yield from walk(item, bound)
            bound |= {name for name in (getattr(item, "target_var", None), getattr(item, "asvar", None)) if name}
    elif isinstance(thing, dict):
        yield from walk(list(thing.values()), bound)
    elif type(thing).__module__.startswith("django.template"):
        inner = bound
        if isinstance(thing, ForNode):
            inner |= {*thing.loopvars, "forloop"}
        elif isinstance(thing, WithNode):
            inner |= thing.extra_context.keys()
        fields = getattr(thing, "__dict__", None) or {name: getattr(thing, name) for name in thing.__slots__}
        for name, value in fields.items():
            if name not in ("token", "origin", "parent", "engine", "filters", "blocks"):
                yield from walk(value, inner if name in ("nodelist", "nodelist_loop") else bound)
        for _, arguments in getattr(thing, "filters", ()):
            yield from walk([value for lookup, value in arguments if lookup], bound)


def used(path: Path) -> set[str]:
    found = ((node.lookups[0], bound) for node, bound in walk(parsed(path).nodelist) if _names(node))
    return {name for name, bound in found if name not in bound} - {"True", "False", "None"}


def _names(node: Any) -> bool:
    return isinstance(node, Variable) and bool(node.lookups)


def named(paths: list[Path], problem: Callable[[Path], object]) -> dict[str, object]:
    """What is wrong, by file."""
    found = {str(path.relative_to(settings.BASE_DIR)): problem(path) for path in paths}
    return {name: wrong for name, wrong in found.items() if wrong}


def test_lines_fit_and_a_template_is_short() -> None:
    def long(path: Path) -> list[int]:
        lines = path.read_text().splitlines()
        return [n for n, line in enumerate(lines, 1) if len(line) > 120 or (n > 150 and path.suffix == ".html")]

    assert named([*TEMPLATES, *STYLES], long) == {}


def test_a_template_says_which_names_it_needs() -> None:
    shell = needs(HOME / "sessions" / "shell.html")

    def wrong(path: Path) -> str:
        unsaid, unused = used(path) - needs(path), needs(path) - used(path)
        unused -= shell if SHELL in path.read_text() else set()
        return f"used, and not named: {unsaid}; named, and not used: {unused}" if unsaid or unused else ""

    assert named(TEMPLATES, wrong) == {}


def test_an_include_passes_what_is_needed_and_nothing_else() -> None:
    def wrong(path: Path) -> list[str]:
        includes = [node for node, _ in walk(parsed(path).nodelist) if isinstance(node, IncludeNode)]
        return [
            node.template.var
            for node in includes
            if not node.isolated_context or set(node.extra_context) != needs(HOME / node.template.var)
        ]

    assert named(TEMPLATES, wrong) == {}


def test_an_attribute_has_one_condition_and_an_address_is_not_glued() -> None:
    def wrong(path: Path) -> list[str]:
        values = re.findall(r'="[^"]*"', TAG.sub(_sign, path.read_text()))
        return [value for value in values if value.count(IF) > 1 or re.search(f"[?&].*{VALUE}", value)]

    assert named(TEMPLATES, wrong) == {}


def _sign(tag: re.Match[str]) -> str:
    return IF if tag[0].startswith("{% if ") else VALUE if tag[0].startswith("{{") else ""
