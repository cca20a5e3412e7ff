"""Whatever is sent, the API answers as its document says, and never with a fault of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIHandler
from django.utils import timezone
from hypothesis import HealthCheck, settings

from sessions_app.services.access import token_create
from tests.stores_of import session_of

schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", WSGIHandler())
