"""The OpenAPI document, with what every operation has in common: problems, and who may not."""

from __future__ import annotations

import re
from typing import Any

from ninja import NinjaAPI
from ninja.errors import ValidationError, ValidationErrorContext

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
    503: "The store cannot be read or written now",
}


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

    def get_openapi_schema(self, **options: Any) -> Any:
        document = super().get_openapi_schema(**options)
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas["ProblemOut"] = ProblemOut.model_json_schema()
        for methods in document["paths"].values():
            for operation in methods.values():
                operation["responses"] = _responses(operation)
        return document


def _responses(operation: dict[str, Any]) -> dict[int, Any]:
    found = {int(status): answer for status, answer in operation["responses"].items()}
    failed = {status for status in found if status >= 400} | {401, 403, 422}
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/ProblemOut"}}}
    problems = {status: {"description": _WORDS[status], "content": content} for status in failed}
    return dict(sorted((found | problems).items()))
