"""The index of words of conversations. What is in the mirror already is filled in by a task (``services/indexing``)."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models


class TextIndex(models.Index):
    def create_sql(self, model: Any, schema_editor: Any, using: str = "", **kwargs: Any) -> Any:
        if schema_editor.connection.vendor != "postgresql":
            return super().create_sql(model, schema_editor, using, **kwargs)
        index = f"CREATE INDEX {self.name} ON {model._meta.db_table} USING gin ({self.fields[-1]} gin_trgm_ops)"
        return (
            f"DO $$ BEGIN CREATE EXTENSION IF NOT EXISTS pg_trgm; {index}; EXCEPTION"
            " WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN NULL; END $$"
        )

_SQLITE = (
    "CREATE VIRTUAL TABLE sessions_app_searchword USING fts5"
    "(words, content='', columnsize=0, detail='none', tokenize='ascii')",
    "CREATE TRIGGER sessions_app_searchword_in AFTER INSERT ON sessions_app_searchblock BEGIN"
    " INSERT INTO sessions_app_searchword(rowid, words) VALUES (new.id, suture_words(new.text)); END",
    "CREATE TRIGGER sessions_app_searchword_out AFTER DELETE ON sessions_app_searchblock BEGIN"
    " INSERT INTO sessions_app_searchword(sessions_app_searchword, rowid, words)"
    " VALUES ('delete', old.id, suture_words(old.text)); END",
)
_POSTGRESQL = (
    "ALTER TABLE sessions_app_searchblock ADD COLUMN words tsvector NOT NULL",
    "CREATE INDEX search_word ON sessions_app_searchblock USING gin (words)",
)


def words_indexed(apps: Any, schema_editor: Any) -> None:
    for statement in _SQLITE if schema_editor.connection.vendor == "sqlite" else _POSTGRESQL:
        schema_editor.execute(statement)


def words_dropped(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TABLE sessions_app_searchword")


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0015_reading_state")]

    operations = [
        migrations.CreateModel(
            name="SearchBlock",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("text", models.BinaryField()),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="search_blocks",
                        to="sessions_app.session",
                    ),
                ),
            ],
            options={"ordering": ("session", "number")},
        ),
        migrations.AddConstraint(
            model_name="searchblock",
            constraint=models.UniqueConstraint(fields=("session", "number"), name="search_block_once"),
        ),
        migrations.AddField(model_name="session", name="indexed", field=models.BooleanField(default=False)),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(
                fields=["-time_updated", "-id"],
                name="session_not_indexed",
                condition=models.Q(indexed=False, imported_at__isnull=False),
            ),
        ),
        migrations.RemoveIndex(model_name="finding", name="finding_rule"),
        migrations.RemoveIndex(model_name="verdict", name="verdict_accepted"),
        migrations.AddIndex(
            model_name="finding", index=models.Index(fields=["rule", "session"], name="finding_of_rule")
        ),
        migrations.AddIndex(
            model_name="verdict",
            index=models.Index(
                fields=["protocol", "session"], name="verdict_refused", condition=models.Q(accepted=False)
            ),
        ),
        migrations.AddIndex(
            model_name="session", index=TextIndex(fields=["health", "search"], name="session_search_text")
        ),
        migrations.AddIndex(
            model_name="session", index=TextIndex(fields=["health", "directory"], name="session_directory_text")
        ),
        migrations.RunPython(words_indexed, words_dropped),
    ]
