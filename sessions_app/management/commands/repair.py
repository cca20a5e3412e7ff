"""``suture repair``: plan and apply to PATH itself, to a copy, or as an SQL patch."""

from __future__ import annotations

from sessions_app.management.repairbase import RepairCommand


class Command(RepairCommand):
    help = "Repair stored sessions, with a restore point that `suture undo` takes back."
