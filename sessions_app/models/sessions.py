"""The mirror: sessions, messages and parts as stored (docs/contract/design.md#4).

Rows are kept verbatim; the columns beside them are derived, may be shortened, and serve lists, filters and search only.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.urls import reverse
from django.utils.http import urlencode

from sessions_app.domain.model import Row, line_id
from sessions_app.domain.rowcodec import decode_value, row_from_text
from sessions_app.domain.values import ENCODINGS

from .sources import Source


@models.TextField.register_lookup
class BetweenLines(models.Lookup[str]):
    """A text has this between the end of its first and the beginning of its last line."""

    lookup_name = "between_lines"

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[str | int, ...]]:
        column, params = self.process_lhs(compiler, connection)
        pattern = f"%\n%{connection.ops.prep_for_like_query(self.rhs)}%\n%"
        return f"{column} LIKE %s ESCAPE '\\'", (*params, pattern)


def place_address(session_id: int, stored_id: str) -> str:
    """Where a message or part is shown, in the timeline of its session."""
    return f"{reverse('sessions_app:session', args=(session_id,))}?{urlencode({'at': stored_id})}"


class Session(models.Model):
    """One stored session. Before its messages are imported (``imported_at`` None) only its row is known."""

    class Health(models.TextChoices):
        BLOCKED = "blocked", "Blocked"
        AT_RISK = "at-risk", "At risk"
        HEALTHY = "healthy", "Healthy"
        UNREADABLE = "unreadable", "Unreadable"
        NOT_SCANNED = "not-scanned", "Not scanned"

    RANK: ClassVar = {
        Health.BLOCKED: 0,
        Health.UNREADABLE: 1,
        Health.AT_RISK: 2,
        Health.NOT_SCANNED: 3,
        Health.HEALTHY: 4,
    }
    """Worst first, the default order of lists."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="sessions")
    stored_id = models.CharField(max_length=255)
    row = models.TextField()
    """The session row (``rowcodec.row_text``)."""
    epoch = models.TextField(blank=True, default="")
    """The V2 context epoch row, "" = none."""
    inputs = models.JSONField(default=list, blank=True)
    """The V2 prompts that were admitted, as row texts."""
    sequence = models.TextField(blank=True, default="")
    """The V2 session's row of ``event_sequence``, "" = none."""
    last_event = models.BigIntegerField(null=True, blank=True)
    """The greatest number of a V2 session's events."""

    title = models.TextField(blank=True, default="")
    project_id_stored = models.CharField(max_length=255, blank=True, default="")
    directory = models.TextField(blank=True, default="")
    path = models.TextField(blank=True, default="")
    version = models.CharField(max_length=255, blank=True, default="")
    parent_stored_id = models.CharField(max_length=255, blank=True, default="", db_index=True)
    time_created = models.BigIntegerField(null=True, blank=True)
    """Milliseconds since the epoch, as ``time_updated`` and ``time_archived``."""
    time_updated = models.BigIntegerField(null=True, blank=True)
    time_archived = models.BigIntegerField(null=True, blank=True)
    dialect = models.CharField(max_length=16, blank=True, default="")
    provider = models.CharField(max_length=255, blank=True, default="")
    model = models.CharField(max_length=255, blank=True, default="")
    turn_count = models.PositiveIntegerField(default=0)
    message_count = models.PositiveIntegerField(default=0)
    part_count = models.PositiveIntegerField(default=0)
    size_bytes = models.PositiveBigIntegerField(default=0)
    search = models.TextField(blank=True, default="")
    """Title, directory and ids in lower case, a line each, cut short: what lists search, and sort by title
    (``services/mirror.searched``)."""

    pending = models.BooleanField(default=True)
    """Its rows are to be (re-)read by the next import."""
    imported_at = models.DateTimeField(null=True, blank=True)
    rows_hash = models.CharField(max_length=64, blank=True, default="")
    read_state = models.CharField(max_length=16, blank=True, default="")
    """In what state its store's files were when these rows were read (``reading.reading_state``), "" = not known."""
    missing_since = models.DateTimeField(null=True, blank=True)
    """The source no longer holds it (found by a sync); kept here until deleted."""
    error = models.TextField(blank=True, default="")
    """Why its rows could not be read, "" = they could."""

    health = models.CharField(max_length=16, choices=Health, default=Health.NOT_SCANNED)
    health_rank = models.PositiveSmallIntegerField(default=RANK[Health.NOT_SCANNED])
    reasons = models.JSONField(default=list)
    """Why it has this health, in words, the worst first."""
    blocked_count = models.PositiveIntegerField(default=0)
    at_risk_count = models.PositiveIntegerField(default=0)
    info_count = models.PositiveIntegerField(default=0)
    rejected_by = models.JSONField(default=list)
    """Protocols whose verdict is rejected."""
    fate = models.CharField(max_length=8, blank=True, default="")
    """What can be done about its gravest findings (``domain.scan.Fate``)."""
    target = models.JSONField(default=dict)
    """The target it was judged for: protocol, provider, model, thinking."""
    known_models = models.JSONField(default=dict)
    """What the client's configuration says of the models used: "provider/model" -> ``KnownModel``, {} = nothing."""
    scanned_at = models.DateTimeField(null=True, blank=True)
    scanned_hash = models.CharField(max_length=64, blank=True, default="")
    """``rows_hash`` of what was scanned."""
    rules_version = models.CharField(max_length=64, blank=True, default="")
    repaired_at = models.DateTimeField(null=True, blank=True)
    indexed = models.BooleanField(default=False)
    """``SearchBlock`` holds the texts of its rows as they are now."""

    class Meta:
        ordering = ("health_rank", "-time_updated", "-id")
        constraints = (models.UniqueConstraint(fields=("source", "stored_id"), name="session_once_per_source"),)
        indexes = (
            models.Index(fields=("health_rank", "-time_updated", "-id"), name="session_worst_first"),
            models.Index(fields=("-health_rank", "-time_updated", "-id"), name="session_best_first"),
            models.Index(
                fields=(
                    *("search", "id", "health", "health_rank", "source", "time_updated", "part_count", "size_bytes"),
                    *("blocked_count", "at_risk_count", "fate"),
                ),
                name="session_listed",
            ),
            models.Index(fields=("part_count", "id"), name="session_by_parts"),
            models.Index(fields=("size_bytes", "id"), name="session_by_size"),
            models.Index(fields=("blocked_count", "at_risk_count", "id"), name="session_by_findings"),
            models.Index(fields=("-time_updated", "-id"), name="session_newest_first"),
            models.Index(fields=("source", "health_rank", "-time_updated", "-id"), name="session_of_source"),
            models.Index(
                fields=("source", "-time_updated", "-id"),
                name="session_pending",
                condition=models.Q(pending=True),
            ),
            models.Index(fields=("stored_id",), name="session_stored_id"),
            models.Index(fields=("health", "-time_updated", "-id"), name="session_health"),
            models.Index(fields=("provider", "model"), name="session_model"),
            models.Index(fields=("project_id_stored",), name="session_project"),
            models.Index(
                fields=("-time_updated", "-id"),
                name="session_not_indexed",
                condition=models.Q(indexed=False, imported_at__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return self.title or self.stored_id

    def get_absolute_url(self) -> str:
        return reverse("sessions_app:session", args=(self.pk,))

    @property
    def model_name(self) -> str:
        """``provider/model`` last used, "" = none is known."""
        return f"{self.provider}/{self.model}" if self.model else ""

    @property
    def stored_row(self) -> Row:
        return row_from_text(self.row)

    @property
    def scan_is_current(self) -> bool:
        """The findings speak of the rows as they are now."""
        return self.scanned_at is not None and self.scanned_hash == self.rows_hash


class Message(models.Model):
    """A row of table ``message`` (V1) or ``session_message`` (V2), or a message that is read from lines.

    The last has no row of its own (``Line`` keeps what is stored): its ``data``, and that of its parts, is what the
    screens show of it.
    """

    class Table(models.TextChoices):
        MESSAGE = "message", "message"
        SESSION_MESSAGE = "session_message", "session_message"
        LINE = "line", "line"

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="messages")
    table = models.CharField(max_length=16, choices=Table)
    position = models.PositiveIntegerField()
    """Place in its table's order, from 0: (time_created, id) for V1, seq for V2, the first line for lines. A database's
    own text order depends on its locale."""
    stored_id = models.CharField(max_length=255)
    time_created = models.BigIntegerField(null=True, blank=True)
    time_updated = models.BigIntegerField(null=True, blank=True)
    seq = models.BigIntegerField(null=True, blank=True)
    """Replay order of V2 rows."""
    kind = models.CharField(max_length=255, blank=True, default="")
    provider = models.CharField(max_length=255, blank=True, default="")
    model = models.CharField(max_length=255, blank=True, default="")
    error = models.CharField(max_length=255, blank=True, default="")
    """Name of the stored error of a failed turn."""
    finish = models.CharField(max_length=255, blank=True, default="")

    # Long text comes last, so that reading the columns above never walks its pages.
    data = models.TextField()
    encoding = models.CharField(max_length=8, blank=True, default="", choices=ENCODINGS)
    columns = models.TextField(blank=True, default="")
    """The whole row but its ``data`` (``rowcodec.row_text``), "" where the usual columns say it all."""

    class Meta:
        ordering = ("session", "table", "position")
        constraints = (
            models.UniqueConstraint(fields=("session", "table", "stored_id"), name="message_once_per_session"),
        )
        indexes = (
            models.Index(fields=("session", "table", "position"), name="message_in_order"),
            models.Index(fields=("stored_id",), name="message_stored_id"),
        )

    def __str__(self) -> str:
        return self.stored_id

    def get_absolute_url(self) -> str:
        return place_address(self.session_id, self.stored_id)

    @property
    def value(self) -> object:
        """``data`` as stored."""
        return decode_value(self.data, self.encoding)


class Part(models.Model):
    """A row of table ``part`` (V1), or a content item of a V2 assistant row.

    A content item has an ``item`` number and no ``data`` of its own (its message holds it); it is here to be found and
    counted.
    """

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="parts")
    message = models.ForeignKey(Message, on_delete=models.CASCADE, null=True, blank=True, related_name="parts")
    """None: an orphan, its message is not in the session."""
    position = models.PositiveIntegerField()
    """Place in the session, from 0: V1 parts in the order of their messages, orphans behind them, then V2 items."""
    stored_id = models.CharField(max_length=255)
    """V2 items: ``<message id>#<index>``."""
    message_stored_id = models.CharField(max_length=255)
    item = models.PositiveIntegerField(null=True, blank=True)
    time_created = models.BigIntegerField(null=True, blank=True)
    time_updated = models.BigIntegerField(null=True, blank=True)
    kind = models.CharField(max_length=255, blank=True, default="")
    tool = models.CharField(max_length=255, blank=True, default="")
    call_id = models.CharField(max_length=255, blank=True, default="")
    status = models.CharField(max_length=255, blank=True, default="")
    size = models.PositiveBigIntegerField(default=0)
    """Characters of stored JSON."""

    data = models.TextField(blank=True, default="")
    encoding = models.CharField(max_length=8, blank=True, default="", choices=ENCODINGS)
    columns = models.TextField(blank=True, default="")
    """As ``Message.columns``."""

    class Meta:
        ordering = ("session", "position")
        constraints = (
            models.UniqueConstraint(fields=("session", "message_stored_id", "stored_id"), name="part_once_per_message"),
        )
        indexes = (
            models.Index(fields=("session", "position"), name="part_in_order"),
            models.Index(fields=("stored_id",), name="part_stored_id"),
            models.Index(fields=("call_id",), name="part_call_id", condition=~models.Q(call_id="")),
        )

    def __str__(self) -> str:
        return self.stored_id

    def get_absolute_url(self) -> str:
        return place_address(self.session_id, self.stored_id)

    @property
    def value(self) -> object:
        """``data`` as stored."""
        return decode_value(self.data, self.encoding)


class Line(models.Model):
    """A line of a file, verbatim, of a session whose client keeps lines (``domain.model.line_row``)."""

    kind = table = "line"
    """As a message's, for pages that list either."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="lines")
    position = models.PositiveIntegerField()
    """Place in the session, from 0: files in their order, lines by number."""
    file = models.TextField()
    """Name of the file within its store."""
    number = models.FloatField()
    """From 1; a whole number but for what was put between two lines and not read again yet."""
    data = models.TextField()
    """The text without its line end."""
    encoding = models.CharField(max_length=8, blank=True, default="", choices=ENCODINGS)

    class Meta:
        ordering = ("session", "position")
        indexes = (models.Index(fields=("session", "position"), name="line_in_order"),)

    def __str__(self) -> str:
        return self.stored_id

    def get_absolute_url(self) -> str:
        return f"{reverse('sessions_app:raw', args=(self.session_id,))}?at=/lines/{self.position}/data"

    @property
    def stored_id(self) -> str:
        return line_id(self.file, self.number)

    @property
    def value(self) -> object:
        """The text as stored."""
        return decode_value(self.data, self.encoding)
