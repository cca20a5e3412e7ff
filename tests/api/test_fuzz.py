"""Whatever is sent, the API answers as its document says, and never with a fault of its own."""

from __future__ import annotations

import schemathesis
from django.core.handlers.wsgi import WSGIHandler

schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", WSGIHandler())
