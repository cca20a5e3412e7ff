"""One narrow index has all that the list of sessions searches, filters and sorts by."""

from typing import Any

from django.db import migrations, models

_TRIGRAMS = (
    "DO $$ BEGIN CREATE EXTENSION IF NOT EXISTS pg_trgm;"
    " CREATE INDEX session_search_text ON sessions_app_session USING gin (search gin_trgm_ops); EXCEPTION"
    " WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN NULL; END $$"
)
"""Finds rare words on PostgreSQL, where it may be given them."""


def searched(apps: Any, schema_editor: Any) -> None:
    """As ``services/mirror.searched``; the ids are found by what was kept before."""
    table = apps.get_model("sessions_app", "Session").objects
    columns = ("pk", "title", "directory", "stored_id", "search")
    changed = []
    for key, title, directory, stored_id, search in table.values_list(*columns).iterator(chunk_size=2000):
        slug = search.rpartition("\n")[2]
        lines = (" ".join(text.split())[:400] for text in (title, directory, f"{stored_id} {slug}"))
        changed.append((key, "\n".join(lines).lower().encode()[:2_000].decode(errors="ignore")))
    with schema_editor.connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE sessions_app_session SET search = %s WHERE id = %s", [(text, key) for key, text in changed]
        )


def trigrams(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(_TRIGRAMS)


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0017_shared_imports")]

    operations = [
        migrations.RemoveIndex(model_name="session", name="session_by_title"),
        migrations.RemoveIndex(model_name="session", name="session_search_text"),
        migrations.RemoveIndex(model_name="session", name="session_directory_text"),
        migrations.AlterField(
            model_name="session", name="fate", field=models.CharField(blank=True, default="", max_length=8)
        ),
        migrations.RunPython(searched, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(
                fields=[
                    *("search", "id", "health", "health_rank", "source", "time_updated", "part_count", "size_bytes"),
                    *("blocked_count", "at_risk_count", "fate"),
                ],
                name="session_listed",
            ),
        ),
        migrations.RemoveIndex(model_name="verdict", name="verdict_refused"),
        migrations.AddIndex(
            model_name="verdict",
            index=models.Index(
                fields=["protocol", "session", "accepted"],  # SQLite looks the last up in the rows else
                name="verdict_refused",
                condition=models.Q(accepted=False),
            ),
        ),
        migrations.RunPython(trigrams, migrations.RunPython.noop),
    ]
