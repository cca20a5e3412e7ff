"""Settings, from the environment (docs/settings.md lists the variables).

What is unsafe has to be asked for: without any variable Suture serves loopback only, keeps everything in its data
directory and signs with a key made there.
"""

from __future__ import annotations

import contextlib
import logging
from datetime import timedelta
from pathlib import Path

import structlog
from django.utils.csp import CSP
from django.utils.functional import lazy

from . import env
from .secretkey import kept_key

BASE_DIR = Path(__file__).resolve().parent.parent
_INSTALLED = Path(__file__).resolve().parent  # setup.py puts pages into the package; in a checkout they lie beside it
PAGES_DIR = _INSTALLED if (_INSTALLED / "templates").is_dir() else BASE_DIR
SUTURE_DATA_DIR = env.data_directory()
with contextlib.suppress(OSError):  # the system check suture.E001 says it where a database is really needed
    SUTURE_DATA_DIR.mkdir(parents=True, exist_ok=True, mode=0o700)

DEBUG = env.boolean("SUTURE_DEBUG", False)
SUTURE_HTTPS = env.boolean("SUTURE_HTTPS", False)
"""Browsers reach this server by https: secure cookies with the __Host- prefix, HSTS."""

# Lazy: commands that need no signature (scan, lower, locate) must not write a key anywhere.
SECRET_KEY = lazy(lambda: env.text("SUTURE_SECRET_KEY") or kept_key(SUTURE_DATA_DIR), str)()
SECRET_KEY_FALLBACKS = env.listing("SUTURE_SECRET_KEY_FALLBACKS")

ALLOWED_HOSTS = env.listing("SUTURE_ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.listing("SUTURE_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "sessions_app.apps.SessionsAppConfig",
    # urls.py finds the admin classes: commands that need no page start without them.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "django_structlog",
    "django_tasks_db",
    "axes",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "sessions_app.web.middleware.never_stored",
    "sessions_app.uploads.uploads_closed",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    "sessions_app.web.intime.in_time",
    "sessions_app.web.middleware.BusyDatabase",
    "axes.middleware.AxesMiddleware",
]
SUTURE_METRICS_TOKEN = env.text("SUTURE_METRICS_TOKEN")
"""Opens /metrics; "" = there is no such page, and nothing is measured."""
if SUTURE_METRICS_TOKEN:
    MIDDLEWARE.insert(
        MIDDLEWARE.index("django.middleware.csp.ContentSecurityPolicyMiddleware"), "sessions_app.metrics.timed"
    )

ROOT_URLCONF = "sessions_app.urls"
WSGI_APPLICATION = "sessions_app.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [PAGES_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.csp",
                "sessions_app.web.context.chrome",
            ],
            "builtins": [
                "django.contrib.humanize.templatetags.humanize",
                "sessions_app.web.templatetags.components",
                "sessions_app.web.templatetags.reading",
                "sessions_app.web.templatetags.suture",
            ],
        },
    }
]

DATABASES = {
    "default": env.database(
        "SUTURE_DATABASE_URL",
        sqlite={
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": env.database_file(),
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": (
                    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA mmap_size=134217728; PRAGMA"
                    " cache_size=-16000;"
                ),
            },
        },
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TASKS = {
    "default": {
        "BACKEND": {
            "database": "django_tasks_db.DatabaseBackend",
            "immediate": "django.tasks.backends.immediate.ImmediateBackend",
        }[env.choice("SUTURE_TASKS", "database", ("database", "immediate"))],
        "QUEUES": ["default"],
    }
}

# Signing in
LOGIN_URL = "sessions_app:login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "sessions_app:login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("MinimumLengthValidator", "CommonPasswordValidator", "NumericPasswordValidator")
]
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",  # looks at no password while there were too many wrong ones
    "django.contrib.auth.backends.ModelBackend",
]
AXES_FAILURE_LIMIT = env.integer("SUTURE_LOGIN_TRIES", 10, minimum=1)
"""Wrong passwords for one name from one address, until none is looked at for a while."""
AXES_COOLOFF_TIME = timedelta(minutes=env.integer("SUTURE_LOGIN_MINUTES", 15, minimum=1))
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]  # nobody can lock somebody else out from elsewhere
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_DISABLE_ACCESS_LOG = True  # the audit trail keeps who signed in and who could not
AXES_CLIENT_IP_CALLABLE = "sessions_app.signins.client_address"
AXES_LOCKOUT_CALLABLE = "sessions_app.signins.too_many"
AXES_VERBOSE = False
_PREFIX = "__Host-" if SUTURE_HTTPS else ""  # browsers take the prefix only with Secure, so not on plain loopback
SESSION_COOKIE_NAME = f"{_PREFIX}suture_session"
SESSION_COOKIE_SECURE = SUTURE_HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = f"{_PREFIX}suture_csrf"
CSRF_COOKIE_SECURE = SUTURE_HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "sessions_app.web.views.expired.expired"

# Headers
SECURE_CSP = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "connect-src": [CSP.SELF],
    "font-src": [CSP.SELF],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
    "base-uri": [CSP.NONE],
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_HSTS_SECONDS = 31_536_000 if SUTURE_HTTPS else 0
SECURE_SSL_REDIRECT = False  # the proxy in front speaks https; the health pages are asked by plain http
SUTURE_BEHIND_PROXY = env.boolean("SUTURE_BEHIND_PROXY", False)
if SUTURE_BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# Files
STATIC_URL = "static/"
STATICFILES_DIRS = [PAGES_DIR / "static"]
_COLLECTED = bool(
    env.text("SUTURE_STATIC_ROOT")
)  # an image collects its files once; elsewhere they are found where they lie
STATIC_ROOT = env.directory("SUTURE_STATIC_ROOT", BASE_DIR) if _COLLECTED else None
WHITENOISE_USE_FINDERS = not _COLLECTED
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": (
            "whitenoise.storage.CompressedManifestStaticFilesStorage"
            if _COLLECTED
            else "django.contrib.staticfiles.storage.StaticFilesStorage"
        )
    },
}

# Limits
SUTURE_REQUEST_SECONDS = env.integer("SUTURE_REQUEST_SECONDS", 27, minimum=1)
"""Seconds that a request may compute; then it is refused in words. Proxies stop one after thirty or sixty."""
SUTURE_UPLOAD_LIMIT = env.integer("SUTURE_UPLOAD_LIMIT", 10 * 1024**3, minimum=1)
"""Bytes of one uploaded file; larger ones are refused while they arrive."""
SUTURE_ATTACH_ROOTS = env.listing(
    "SUTURE_ATTACH_ROOTS", ["/"] if set(ALLOWED_HOSTS) <= {"localhost", "127.0.0.1", "[::1]"} else []
)
"""Folders below which files of this machine may be attached: everything where only this machine is served, else what is
named."""
SUTURE_BACKUP_LIMIT = env.backup_limit()
SUTURE_JOBS = env.jobs()
"""Read again where it is needed, without Django; here so that a value that is none stops the start."""

# What is kept, and how long (docs/settings.md).
SUTURE_KEEP_BACKUPS = env.integer("SUTURE_KEEP_BACKUPS", 5, minimum=1)
SUTURE_KEEP_BACKUP_DAYS = env.integer("SUTURE_KEEP_BACKUP_DAYS", 30, minimum=1)
SUTURE_KEEP_RESTORE_POINTS = env.integer("SUTURE_KEEP_RESTORE_POINTS", 50, minimum=1)
SUTURE_KEEP_RESTORE_POINT_DAYS = env.integer("SUTURE_KEEP_RESTORE_POINT_DAYS", 180, minimum=1)
SUTURE_KEEP_TASK_DAYS = env.integer("SUTURE_KEEP_TASK_DAYS", 14, minimum=1)
"""Bytes of a database up to which a full backup is made before a repair (docs/contract/design.md#5.2)."""
DATA_UPLOAD_MAX_MEMORY_SIZE = env.integer("SUTURE_FORM_LIMIT", 8 * 1024**2, minimum=1)
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2_000
DATA_UPLOAD_MAX_NUMBER_FILES = 4
FILE_UPLOAD_HANDLERS = ["sessions_app.uploads.LimitedUploadHandler"]
FILE_UPLOAD_PERMISSIONS = 0o600
FILE_UPLOAD_TEMP_DIR = SUTURE_DATA_DIR  # uploads are large, and transcripts belong on no shared disk

# Providers (their addresses and keys: providers/endpoints.py reads them where something is sent)
SUTURE_RETRY_TRIES = env.integer("SUTURE_RETRY_TRIES", 8, minimum=1)
"""How often a request is tried in all."""
SUTURE_RETRY_SECONDS = env.integer("SUTURE_RETRY_SECONDS", 600)
"""Seconds from a request's first try within which another may begin."""
SUTURE_PROBE_SECONDS = env.integer("SUTURE_PROBE_SECONDS", 25, minimum=1)
"""Seconds a probe waits for the provider; web servers stop a request after thirty."""
SUTURE_COMPACT_MODEL = env.text("SUTURE_COMPACT_MODEL")
"""PROTOCOL:PROVIDER/MODEL that writes summaries; left out: the session's own model."""
SUTURE_COMPACT_OUTPUT = env.integer("SUTURE_COMPACT_OUTPUT", 4_096, minimum=256)
"""Tokens of a summary at most."""

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

# Logs go to stderr: the results of commands are on stdout.
_LOG_STEPS: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
]
DJANGO_STRUCTLOG_STATUS_4XX_LOG_LEVEL = logging.INFO
structlog.configure(
    processors=[
        structlog.stdlib.filter_by_level,
        *_LOG_STEPS,
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
_RENDERER = (
    structlog.processors.JSONRenderer()
    if env.choice("SUTURE_LOG_FORMAT", "text", ("text", "json")) == "json"
    else structlog.dev.ConsoleRenderer(colors=False)
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "structured": {
            "()": structlog.stdlib.ProcessorFormatter,
            "processors": [
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                _RENDERER,
            ],
            "foreign_pre_chain": _LOG_STEPS,
        }
    },
    "filters": {"client_errors": {"()": "sessions_app.logs.ClientErrors"}},
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "structured", "filters": ["client_errors"]},
    },
    "root": {
        "handlers": ["stderr"],
        "level": env.choice("SUTURE_LOG_LEVEL", "WARNING", ("DEBUG", "INFO", "WARNING", "ERROR")),
    },
}
