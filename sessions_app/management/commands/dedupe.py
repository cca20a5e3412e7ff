"""``suture dedupe``: the service of that name alone (docs/contract/design.md#6)."""

from __future__ import annotations

from sessions_app.domain.wish import DEDUPE
from sessions_app.management.repairbase import RepairCommand


class Command(RepairCommand):
    help = "Collapse tool parts that share a call id within one message; rename the later of two different results."
    examples = (("suture dedupe customer.db --dry-run", "what would be collapsed"),)
    preset = DEDUPE
