"""A process that dies at a step of a write, without a process of its own."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app import stores


class Killed(BaseException):
    """As sudden as a kill: nothing catches it."""


def killed_at(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Every write ends at ``step`` (``prepared``, ``committed``, ...) from now on."""
    real = stores.Store.apply

    def apply(self: stores.Store, changes: Any, **given: Any) -> Any:
        def at(name: str) -> None:
            if name == step:
                raise Killed

        return real(self, changes, **given | {"at": at})

    monkeypatch.setattr(stores.Store, "apply", apply)
