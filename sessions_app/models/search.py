"""What conversations are searched by (docs/decisions/searching-inside-conversations.md)."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.backends.signals import connection_created
from django.dispatch import receiver

from sessions_app.domain.searchtext import block_words

from .sessions import Session


class SearchBlock(models.Model):
    """Some pages of a session's texts (``domain.searchtext``).

    An index of its words lies beside it. On SQLite that is the full-text table ``sessions_app_searchword``, which
    triggers keep, so that a block that goes takes its words along, whoever deletes it; a migration that makes this
    table anew makes them anew too. On PostgreSQL it is the column ``words`` with a GIN index.
    """

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="search_blocks")
    number = models.PositiveIntegerField()
    """Place in the session, from 0."""
    text = models.BinaryField()

    class Meta:
        ordering = ("session", "number")
        constraints = (models.UniqueConstraint(fields=("session", "number"), name="search_block_once"),)

    def __str__(self) -> str:
        return f"block {self.number} of session {self.session_id}"


@receiver(connection_created)
def _words_known(connection: Any, **kwargs: Any) -> None:
    """The triggers ask for the words of a block."""
    if connection.vendor == "sqlite":
        connection.connection.create_function(
            "suture_words", 1, lambda block: " ".join(block_words(bytes(block))), deterministic=True
        )
