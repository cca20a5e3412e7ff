"""Who else has a file open, and what a repair then waits for (docs/contract/design.md#5)."""

from __future__ import annotations

from collections.abc import Iterable

from sessions_app.stores.holders import Holder


def named(holders: Iterable[Holder]) -> str:
    """Processes, in words."""
    return ", ".join(f"{holder.command or 'a process'} (process {holder.pid})" for holder in holders)


def clients_of(holders: Iterable[Holder]) -> list[Holder]:
    """Those among the holders of a file that are the agent's client: what looks stuck may still be running in them."""
    return [holder for holder in holders if holder.is_client]


def held_words(clients: Iterable[Holder]) -> str:
    """Why a repair waits for the client."""
    return (
        f"{named(clients)} has the file open, and what this repair would close may still be running. Close the client,"
        " or force it."
    )
