"""Counts of own protocols and of safe and blocking rules, for what was scanned before they were kept."""

from collections import Counter, defaultdict

from typing import Any

from django.db import migrations


def count(apps: Any, schema_editor: Any) -> None:
    finding, session = (apps.get_model("sessions_app", name) for name in ("Finding", "Session"))
    known = {}
    found: Counter[tuple[int, str, str, str]] = Counter()
    for key, source, health, target in session.objects.values_list("pk", "source", "health", "target").iterator():
        own = (target or {}).get("protocol", "")
        known[key] = (source, health, own)
        if own:
            found[source, "own", own, health] += 1
    rules = defaultdict(set)
    columns = ("session", "rule", "severity", "safety")
    for key, rule, severity, safety in finding.objects.order_by().values_list(*columns).iterator():
        rules[key, rule].add((severity, safety))
    for (key, rule), weighed in rules.items():
        source, health, own = known[key]
        if any(severity == "at-risk" for severity, _ in weighed):
            found[source, "risk", rule, health] += 1
        if {safety for severity, safety in weighed if severity != "info"} == {"safe"}:
            found[source, "safe", rule, health] += 1
        if own and any(severity == "blocked" for severity, _ in weighed):
            found[source, "refused", f"{rule} {own}", health] += 1
    counts = apps.get_model("sessions_app", "SessionCount")
    counts.objects.bulk_create(
        [
            counts(source_id=source, kind=kind, value=value, health=health, sessions=number)
            for (source, kind, value, health), number in found.items()
        ]
    )


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0013_health_days")]
    operations = [migrations.RunPython(count, migrations.RunPython.noop)]
