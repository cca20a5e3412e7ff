"""Which commands there are, in the order and the words in which ``suture`` lists them."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .base import Arguments


@dataclass(frozen=True, slots=True)
class Listed:
    """A command's line in the overview. ``bare``: it works on files alone, so it starts without Django."""

    group: str
    words: str
    bare: bool = False


COMMANDS = {
    "serve": Listed("Look", "Serve the dashboard, with a background worker"),
    "doctor": Listed("Look", "Every store of this machine in one look, and what to do next", bare=True),
    "scan": Listed("Look", "Say what is wrong with stored sessions, and who refuses them", bare=True),
    "weigh": Listed("Look", "Say what makes a session slow to open, and what can be taken out", bare=True),
    "upgrade-check": Listed("Look", "Say what the upgrade to 2.x would drop or alter", bare=True),
    "locate": Listed("Look", "Say what a provider's error text means and where it points", bare=True),
    "search": Listed("Look", "Find what stands in imported conversations"),
    "lower": Listed("Look", "Write the request body that the next call would send", bare=True),
    "repair": Listed("Repair", "Repair stored sessions; undo takes it back", bare=True),
    "dedupe": Listed("Repair", "Collapse tool parts that share a call id", bare=True),
    "drop": Listed("Repair", "Drop the tool calls of failed turns whose thinking was lost", bare=True),
    "undo": Listed("Repair", "Take a repair back", bare=True),
    "restore": Listed("Repair", "Put a full backup back in place of a database", bare=True),
    "repairs": Listed("Repair", "List the repairs that were written to files", bare=True),
    "backups": Listed("Repair", "List the full backups", bare=True),
    "bulk-repair": Listed("Repair", "Repair the imported sessions that a filter finds, as one batch"),
    "export": Listed("Hand over", "Write a session for handing back: database, export, patch, ...", bare=True),
    "relink": Listed("Hand over", "Show or file sessions that the client does not list", bare=True),
    "adopt": Listed("Hand over", "Bring sessions into the database that the client reads now", bare=True),
    "recover": Listed("Hand over", "Save what can be saved of a damaged database", bare=True),
    "slim": Listed("Keep", "Write a store without superseded events and free pages", bare=True),
    "import": Listed("Keep", "Attach sources, and import and scan their sessions"),
    "sync": Listed("Keep", "Read what changed in attached sources"),
    "db_worker": Listed("Keep", "Run the background worker alone"),
    "token": Listed("Keep", "Make, list and revoke tokens of the REST API"),
    "prune": Listed("Keep", "Delete old backups, restore points and task results"),
    "probe": Listed("Ask the provider", "Ask whether it accepts a session now"),
    "compact": Listed("Ask the provider", "Summarise a session that its client cannot compact"),
    "completion": Listed("Set up", "Write the completion of these commands for a shell", bare=True),
}


def command(name: str) -> Any:
    """The command of that name: a ``SutureCommand``, or Django's own kind."""
    if not COMMANDS[name].bare:
        import django

        django.setup()
    return import_module(f"sessions_app.management.commands.{name}").Command()


def declared(name: str) -> Arguments:
    """What the command of that name says of itself; without Django."""
    from .declared import DECLARED

    found: Arguments = DECLARED[name]() if name in DECLARED else command(name)
    return found


def whole_parser() -> ArgumentParser:
    """One parser of all commands, for what is made of it."""
    whole = ArgumentParser(prog="suture")
    commands = whole.add_subparsers(metavar="COMMAND")
    for name, listed in COMMANDS.items():
        declared(name).fill(commands.add_parser(name, help=listed.words))
    return whole
