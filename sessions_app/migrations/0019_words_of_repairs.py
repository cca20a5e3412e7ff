from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0018_session_listed"),
    ]

    operations = [
        migrations.AddField(
            model_name="repair",
            name="choices",
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name="repair",
            name="words",
            field=models.TextField(blank=True, default=""),
        ),
    ]
