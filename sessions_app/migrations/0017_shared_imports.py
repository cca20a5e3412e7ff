"""Imports are shared by workers in ranges; what a source held lies apart from it. Imports that run begin again, which
reads nothing twice."""

import json
from typing import Any

import django.db.models.deletion
from django.db import migrations, models


def marks_moved(apps: Any, schema_editor: Any) -> None:
    marks = apps.get_model("sessions_app", "SourceMark").objects
    for source in apps.get_model("sessions_app", "Source").objects.exclude(sync_mark="").iterator(chunk_size=1):
        marks.create(source=source, files=json.loads(source.sync_mark).get("files", ""), text=source.sync_mark)
    apps.get_model("sessions_app", "ImportJob").objects.filter(state__in=("queued", "running")).update(started_at=None)


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0016_search")]

    operations = [
        migrations.CreateModel(
            name="SourceMark",
            fields=[
                (
                    "source",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="mark",
                        serialize=False,
                        to="sessions_app.source",
                    ),
                ),
                ("files", models.CharField(blank=True, default="", max_length=64)),
                ("text", models.TextField()),
            ],
        ),
        migrations.CreateModel(
            name="ImportRange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("heartbeat_at", models.DateTimeField(blank=True, null=True)),
                ("sessions", models.JSONField()),
                ("scanning", models.BooleanField(default=False)),
                ("counted", models.PositiveIntegerField(default=0)),
                (
                    "whole",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="ranges",
                        to="sessions_app.importjob",
                    ),
                ),
            ],
            options={
                "ordering": ("whole", "scanning", "pk"),
                "indexes": [models.Index(fields=["whole", "scanning", "id"], name="range_next")],
            },
        ),
        migrations.RunPython(marks_moved, migrations.RunPython.noop),
        migrations.RemoveField(model_name="source", name="sync_mark"),
    ]
