"""Import, bulk repair and compaction are one kind of job: the same columns, with a lease."""

from typing import Any

from django.db import migrations, models


def face_to_column(apps: Any, schema_editor: Any) -> None:
    for batch in apps.get_model("sessions_app", "RepairBatch").objects.only("options", "face").iterator():
        batch.face = batch.options.pop("face", "web")
        batch.save(update_fields=("options", "face"))


def face_to_options(apps: Any, schema_editor: Any) -> None:
    for batch in apps.get_model("sessions_app", "RepairBatch").objects.only("options", "face").iterator():
        batch.options["face"] = batch.face
        batch.save(update_fields=("options",))


class Migration(migrations.Migration):
    dependencies = (("sessions_app", "0003_saved_views_and_ignored_findings"),)

    operations = (
        migrations.RenameIndex(model_name="importjob", new_name="importjob_alive", old_name="import_job_alive"),
        migrations.RenameIndex(model_name="repairbatch", new_name="repairbatch_alive", old_name="batch_alive"),
        *(
            migrations.AddField(kind, "lease_until", models.DateTimeField(blank=True, null=True))
            for kind in ("compaction", "importjob", "repairbatch")
        ),
        *(
            migrations.AddField(kind, "face", models.CharField(blank=True, default="", max_length=16))
            for kind in ("importjob", "repairbatch")
        ),
        migrations.AlterField("compaction", "total", models.PositiveBigIntegerField(default=0)),
        *(
            migrations.AlterField(kind, column, models.PositiveBigIntegerField(default=0))
            for kind in ("importjob", "repairbatch")
            for column in ("total", "done")
        ),
        migrations.RunPython(face_to_column, face_to_options),
    )
