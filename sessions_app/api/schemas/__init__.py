"""What goes in and what comes out, as the OpenAPI document says it."""

from __future__ import annotations

from .asking import AskIn, CompactionOut, ProbeIn, ProbeOut, ProbePage, QuestionOut
from .bulk import BulkIn, BulkOut, BulkPage, BulkPreviewOut, RuleLineOut, SelectionIn, SkipOut
from .common import NO_NUL, Health, Id, In, Number, Reason, Safety, Thinking, Words, example
from .locate import LocatedOut, LocateIn, LocationOut, RaiserOut
from .repairs import (
    OperationOut,
    PlanOut,
    RepairApplyIn,
    RepairDetailOut,
    RepairIn,
    RepairOut,
    RepairPage,
    RowChangeOut,
    SkippedOut,
    UndoIn,
)
from .search import SearchOut
from .sessions import (
    FindingOut,
    FindingsOut,
    SessionDetailOut,
    SessionOut,
    SessionPage,
    TargetOut,
    VerdictOut,
    ViolationOut,
)
from .sources import AttachIn, JobOut, JobPage, SourceDetailOut, SourceIn, SourceJobOut, SourceOut
from .timeline import MessageOut, PartOut, TimelineOut, TurnOut, WeightOut

__all__ = [
    "NO_NUL",
    "AskIn",
    "AttachIn",
    "BulkIn",
    "BulkOut",
    "BulkPage",
    "BulkPreviewOut",
    "CompactionOut",
    "FindingOut",
    "FindingsOut",
    "Health",
    "Id",
    "In",
    "JobOut",
    "JobPage",
    "LocateIn",
    "LocatedOut",
    "LocationOut",
    "MessageOut",
    "Number",
    "OperationOut",
    "PartOut",
    "PlanOut",
    "ProbeIn",
    "ProbeOut",
    "ProbePage",
    "QuestionOut",
    "RaiserOut",
    "Reason",
    "RepairApplyIn",
    "RepairDetailOut",
    "RepairIn",
    "RepairOut",
    "RepairPage",
    "RowChangeOut",
    "RuleLineOut",
    "Safety",
    "SearchOut",
    "SelectionIn",
    "SessionDetailOut",
    "SessionOut",
    "SessionPage",
    "SkipOut",
    "SkippedOut",
    "SourceDetailOut",
    "SourceIn",
    "SourceJobOut",
    "SourceOut",
    "TargetOut",
    "Thinking",
    "TimelineOut",
    "TurnOut",
    "UndoIn",
    "VerdictOut",
    "ViolationOut",
    "WeightOut",
    "Words",
    "example",
]
