"""What every body shares: the words of the design as types, and limits of what callers send."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Path, Schema
from pydantic import ConfigDict, Field

Health = Literal["blocked", "at-risk", "healthy", "unreadable", "not-scanned"]
Thinking = Literal["on", "off", "auto"]
Safety = Literal["safe", "lossy"]

Number = Annotated[int, Field(ge=1, le=2**63 - 1)]
Id = Annotated[int, Path(ge=1, le=2**63 - 1, description="Suture's own number")]
NO_NUL = r"^[^\x00]*$"
"""What PostgreSQL would refuse to store or to compare."""

Words = Annotated[str, Field(max_length=500, pattern=NO_NUL)]
Reason = Annotated[str, Field(max_length=2000, pattern=NO_NUL)]


class In(Schema):
    """A body: names nobody knows are refused, so that a misspelt option is not silently left out."""

    model_config = ConfigDict(extra="forbid")


def example(**fields: Any) -> ConfigDict:
    """The configuration of a body that is shown with an example."""
    return ConfigDict(json_schema_extra={"examples": [fields]})
