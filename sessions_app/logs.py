"""Logs are for whoever runs the server: what a client asked for in vain is no news there."""

from __future__ import annotations

import logging


class ClientErrors(logging.Filter):
    """Answers of 400 to 499 come without a traceback, and those that are a client's own mistake (a page that is not
    there, one that it may not see) count as INFO. A wrong host name or a failed CSRF check stays a warning: mostly the
    settings do not fit the proxy."""

    def filter(self, record: logging.LogRecord) -> bool:
        status = getattr(record, "status_code", None)
        if not isinstance(status, int) or not 400 <= status < 500:
            return True
        record.exc_info = record.exc_text = None
        return record.name != "django.request" or logging.getLogger().isEnabledFor(logging.INFO)
