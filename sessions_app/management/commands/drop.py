"""``suture drop``: the service of that name alone (docs/contract/design.md#6)."""

from __future__ import annotations

from sessions_app.domain.wish import DROP
from sessions_app.management.repairbase import RepairCommand


class Command(RepairCommand):
    help = "Drop the tool calls and results of failed turns whose thinking was lost."
    examples = (("suture drop customer.db --dry-run", "what would be dropped"),)
    preset = DROP
