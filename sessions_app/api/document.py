"""The OpenAPI document, with what every operation has in common: problems, and who may not."""

from __future__ import annotations

import re
from typing import Any

from ninja import NinjaAPI
from ninja.errors import ValidationError, ValidationErrorContext
from ninja.operation import Operation

from sessions_app.domain.near import did_you_mean

from .problems import PROBLEM, ProblemOut

_WORDS = {
    401: "No valid credentials",
    403: "Not allowed, or the CSRF token is missing",
    404: "Not there",
    409: "Refused: nothing was written",
    413: "Too large",
    422: "Makes no sense; the detail says where",
    423: "Refused: a client has the file open",
    503: "The store cannot be read or written now, or Suture's own database is busy: try again",
    507: "Refused: the disk is full",
}

OPERATION_IDS = {
    "sources_list": "list_sources",
    "source_create": "add_source",
    "source_get": "get_source",
    "source_change": "change_source",
    "source_remove": "delete_source",
    "source_read_again": "sync_source",
    "source_store": "check_store",
    "source_upgrade_check": "check_upgrade",
    "source_kept": "list_kept",
    "source_save": "recover_source",
    "source_tidied": "tidy_source",
    "source_doctor": "examine_source",
    "source_slimmed": "slim_source",
    "source_slimming": "get_slimming",
    "source_slim_stopped": "cancel_slimming",
    "source_old_forgotten": "forget_old_files",
    "source_adopted": "adopt_sessions",
    "source_relinked": "relink_folder",
    "source_export": "export_source",
    "jobs_list": "list_jobs",
    "job_get": "get_job",
    "sessions_list": "list_sessions",
    "session_get": "get_session",
    "session_findings": "list_findings",
    "session_verdicts": "list_verdicts",
    "conversations_search": "search_conversations",
    "session_timeline": "get_timeline",
    "session_weighed": "get_weight",
    "session_payload": "get_payload",
    "payloads_export": "export_payloads",
    "session_plan": "plan_repair",
    "session_repair": "repair_session",
    "session_dedupe": "dedupe_session",
    "session_drop": "drop_lost_thinking",
    "session_relink_plan": "plan_relink",
    "session_relink": "relink_session",
    "session_export": "export_session",
    "session_probe": "probe_session",
    "session_probes": "list_probes",
    "session_compact": "compact_session",
    "compaction_get": "get_compaction",
    "compaction_write": "apply_compaction",
    "compaction_stop": "cancel_compaction",
    "repairs_list": "list_repairs",
    "repair_get": "get_repair",
    "repair_take_back": "undo_repair",
    "bulk_list": "list_bulk_repairs",
    "bulk_create": "start_bulk_repair",
    "bulk_get": "get_bulk_repair",
    "bulk_stop": "cancel_bulk_repair",
    "bulk_take_back": "undo_bulk_repair",
    "bulk_again": "retry_bulk_repair",
    "bulk_report": "get_bulk_report",
    "locate_error": "locate_error",
}
"""Functions and what their operations are called."""


class DocumentedAPI(NinjaAPI):
    """``NinjaAPI`` whose document says how each operation fails, and whose errors say what was probably meant."""

    def validation_error_from_error_contexts(
        self, error_contexts: list[ValidationErrorContext[Any]]
    ) -> ValidationError:
        found = super().validation_error_from_error_contexts(error_contexts)
        given = [fault["input"] for one in error_contexts for fault in one.pydantic_validation_error.errors()]
        for fault, value in zip(found.errors, given, strict=True):
            if fault["type"] == "literal_error":
                fault["msg"] += did_you_mean(str(value), re.findall(r"'([^']*)'", fault["ctx"]["expected"]))
        return found

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """The name of the method in clients that are generated."""
        return OPERATION_IDS[operation.view_func.__name__]

    def get_openapi_schema(self, **options: Any) -> Any:
        document = super().get_openapi_schema(**options)
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        problem = ProblemOut.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= problem.pop("$defs", {}) | {"ProblemOut": problem}
        for scheme in document["components"]["securitySchemes"].values():
            if scheme["type"] == "http":
                scheme.pop("name", None)  # which only an apiKey has
        for methods in document["paths"].values():
            for operation in methods.values():
                operation["responses"] = _responses(operation)
                for content in operation.get("requestBody", {}).get("content", {}).values():
                    # A body that may be left out: its default is what the schema's own defaults say.
                    if named := content["schema"].get("allOf"):
                        [content["schema"]] = named
        return document


def _responses(operation: dict[str, Any]) -> dict[int, Any]:
    found = {int(status): answer for status, answer in operation["responses"].items()}
    failed = {status for status in found if status >= 400} | {401, 403, 422, 503}
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/ProblemOut"}}}
    problems = {status: {"description": _WORDS[status], "content": content} for status in failed}
    return dict(sorted((found | problems).items()))
