"""Checks of JSON shapes, worded as the client's schema library words them.

A check is a function of one value that returns nothing or raises ``Mismatch``. Only what the client itself refuses is
refused: unknown keys pass (the client drops them), and optional fields must be absent rather than null
(docs/contract/formats.md#b1).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sessions_app.domain import jsjson

type Check = Callable[[Any], None]

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z")
_SHOWN = 400
"""Characters of a refused value that an error quotes."""


class Mismatch(Exception):
    """``reason`` without position; ``path`` grows from the inside out while it is raised.

    ``spare``: the value is a null whose key may be left out.
    """

    def __init__(self, reason: str, *, spare: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.spare = spare
        self.path: tuple[str | int, ...] = ()

    @property
    def words(self) -> str:
        """The client's own words, with the path below the row."""
        where = "".join(f"[{jsjson.dumps(step)}]" for step in self.path)
        return f"{self.reason}\n  at {where}" if where else self.reason


def expected(what: str, value: Any) -> Mismatch:
    """``Expected WHAT, got VALUE``."""
    shown = jsjson.dumps(value)
    return Mismatch(f"Expected {what}, got {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '...'}")


def text(value: Any) -> None:
    """A string. Raises ``Mismatch``, as every check."""
    if type(value) is not str:
        raise expected("string", value)


def number(value: Any) -> None:
    """A number. Raises ``Mismatch``, as every check."""
    if type(value) is not int and not isinstance(value, float):
        raise expected("number", value)


def boolean(value: Any) -> None:
    """A boolean. Raises ``Mismatch``, as every check."""
    if type(value) is not bool:
        raise expected("boolean", value)


def record(value: Any) -> None:
    """A JSON object. Raises ``Mismatch``, as every check."""
    if type(value) is not dict:
        raise expected("object", value)


def anything(value: Any) -> None:
    """Any JSON value, null included."""


def base64(value: Any) -> None:
    """Strict alphabet and padding; may be empty; bits beyond the last byte do not matter
    (docs/contract/formats.md#b2)."""
    text(value)
    if _BASE64.match(value) is None:
        raise expected("a base64 encoded string", value)


_PLAIN: dict[Check, type] = {text: str, number: int, boolean: bool, record: dict}
"""Checks that every value of a type passes."""


def literal(*words: str) -> Check:
    """One of these strings."""
    what = " | ".join(jsjson.dumps(word) for word in words)

    def check(value: Any) -> None:
        if type(value) is not str or value not in words:
            raise expected(what, value)

    return check


def records(check: Check) -> Check:
    """An object whose every value passes ``check``."""

    def checked(value: Any) -> None:
        record(value)
        for key, item in value.items():
            within(check, item, key)

    return checked


def array(check: Check, *, filled: bool = False) -> Check:
    """An array whose every item passes ``check``; with ``filled`` it has one at least."""

    def checked(value: Any) -> None:
        if type(value) is not list:
            raise expected("array", value)
        if filled and not value:
            raise expected("a value with a length of at least 1", value)
        for index, item in enumerate(value):
            try:
                check(item)
            except Mismatch as fault:
                fault.path = (index, *fault.path)
                raise

    return checked


def struct(required: dict[str, Check], optional: dict[str, Check] | None = None) -> Check:
    """An object with these members; others are let through, as the client does."""
    # Most values are of a plain type, which is told without a call.
    needs = tuple((key, _PLAIN.get(check), check) for key, check in required.items())
    may = {key: (_PLAIN.get(check), check) for key, check in (optional or {}).items()}
    optionals = frozenset(may)

    def checked(value: Any) -> None:
        if type(value) is not dict:
            raise expected("object", value)
        key = ""
        try:
            for key, plain, check in needs:
                if type(value[key]) is not plain:
                    check(value[key])
            if not optionals.isdisjoint(value):
                for key, (plain, check) in may.items():  # as they are declared: of two faults the same one is named
                    if key in value and type(value[key]) is not plain:
                        _optional(check, value[key])
        except KeyError:
            missing = Mismatch("Missing key")
            missing.path = (key,)
            raise missing from None
        except Mismatch as fault:
            fault.path = (key, *fault.path)
            raise

    return checked


def _optional(check: Check, value: Any) -> None:
    """Where null is refused, the key could have been left out."""
    try:
        check(value)
    except Mismatch as fault:
        fault.spare = fault.spare or value is None
        raise


def times(*optional: str) -> Check:
    """An object with a number ``created``, and numbers under ``optional`` where they are there."""
    slowly = struct({"created": number}, dict.fromkeys(optional, number))

    def checked(value: Any) -> None:
        # Nearly always all values are whole milliseconds.
        if type(value) is not dict or "created" not in value or {*map(type, value.values())} != {int}:
            slowly(value)

    return checked


def tagged(tag: str, variants: dict[str, Check]) -> Check:
    """A union told apart by the string at ``tag``."""
    what = " | ".join(f'{{ readonly "{tag}": {jsjson.dumps(name)}, ... }}' for name in variants)

    def checked(value: Any) -> None:
        if type(value) is not dict:
            raise expected(what, value)
        name = value.get(tag)
        check = variants.get(name) if type(name) is str else None
        if check is None:
            raise expected(what, value)
        check(value)

    return checked


def within(check: Check, value: Any, step: str | int) -> None:
    """``check(value)``, naming ``step`` in the path of what it raises."""
    try:
        check(value)
    except Mismatch as fault:
        fault.path = (step, *fault.path)
        raise
