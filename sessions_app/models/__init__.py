"""Suture's own tables: the mirror of stored sessions, what was found in them, what was done to them."""

from .access import ApiToken, LoginLink, Scope
from .audit import ACTIONS, AuditEntry, AuditIsAppendOnly
from .counts import HealthDay, SessionCount
from .engine import Compaction, Probe
from .findings import Finding, Verdict
from .jobs import Job, Leased
from .pasted import PastedError
from .repairs import BatchResult, Repair, RepairBatch, RowChange
from .savedviews import IgnoredFinding, SavedView
from .search import SearchBlock
from .sessions import Line, Message, Part, Session
from .slimming import SlimJob
from .sources import ImportJob, ImportRange, Project, Source, SourceMark, SourceProblem, WorkerBeat

__all__ = [
    "ACTIONS",
    "ApiToken",
    "AuditEntry",
    "AuditIsAppendOnly",
    "BatchResult",
    "Compaction",
    "Finding",
    "HealthDay",
    "IgnoredFinding",
    "ImportJob",
    "ImportRange",
    "Job",
    "Leased",
    "Line",
    "LoginLink",
    "Message",
    "Part",
    "PastedError",
    "Probe",
    "Project",
    "Repair",
    "RepairBatch",
    "RowChange",
    "SavedView",
    "Scope",
    "SearchBlock",
    "Session",
    "SessionCount",
    "SlimJob",
    "Source",
    "SourceMark",
    "SourceProblem",
    "Verdict",
    "WorkerBeat",
]
