"""``suture repair``: plan and apply to PATH itself, to a copy, or as an SQL patch."""

from __future__ import annotations

from sessions_app.management.repairbase import RepairCommand


class Command(RepairCommand):
    help = "Repair stored sessions, with a restore point that `suture undo` takes back."
    examples = (
        ("suture repair customer.db --dry-run", "what would change"),
        ("suture repair customer.db", "change it; tells how to take it back"),
        ("suture repair customer.db --output repaired.db", "repair a copy"),
        ("suture repair customer.db --patch fix.sql", "SQL that the customer can run instead"),
        ("suture repair --session ses_... --safety lossy", "also what drops something, for one session"),
    )
