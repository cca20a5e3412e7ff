"""Imports are shared by workers in ranges (those that run begin again, which leaves what is read); what a source held
lies apart from it; the report of a batch is rows."""

import json
from typing import Any

import django.db.models.deletion
from django.db import migrations, models


def marks_moved(apps: Any, schema_editor: Any) -> None:
    marks = apps.get_model("sessions_app", "SourceMark").objects
    for source in apps.get_model("sessions_app", "Source").objects.exclude(sync_mark="").iterator(chunk_size=1):
        marks.create(source=source, files=json.loads(source.sync_mark).get("files", ""), text=source.sync_mark)
    apps.get_model("sessions_app", "ImportJob").objects.filter(state__in=("queued", "running")).update(started_at=None)


def reports_moved(apps: Any, schema_editor: Any) -> None:
    rows = apps.get_model("sessions_app", "BatchResult").objects
    model = rows.model
    for batch in apps.get_model("sessions_app", "RepairBatch").objects.iterator(chunk_size=1):
        made = (model(batch=batch, place=place, **result) for place, result in enumerate(batch.results))
        rows.bulk_create(made, batch_size=500)


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
        migrations.CreateModel(
            name="BatchResult",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("place", models.PositiveIntegerField()),
                ("session", models.BigIntegerField()),
                ("stored_id", models.CharField(blank=True, default="", max_length=255)),
                ("title", models.TextField(blank=True, default="")),
                ("outcome", models.CharField(max_length=16)),
                ("repair", models.CharField(blank=True, default="", max_length=64)),
                ("rules", models.JSONField(default=list)),
                ("changes", models.PositiveIntegerField(default=0)),
                ("why", models.TextField(blank=True, default="")),
                ("undo", models.TextField(blank=True, default="")),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rows", to="sessions_app.repairbatch"
                    ),
                ),
            ],
            options={
                "ordering": ("batch", "place"),
                "indexes": [
                    models.Index(fields=["batch", "repair"], name="batch_result_of_repair"),
                    models.Index(fields=["batch", "outcome"], name="batch_result_by_outcome"),
                ],
                "constraints": [models.UniqueConstraint(fields=("batch", "place"), name="batch_result_once")],
            },
        ),
        migrations.RunPython(reports_moved, migrations.RunPython.noop),
        migrations.RemoveField(model_name="repairbatch", name="results"),
    ]
