"""``suture lower``: the request body that the next call would send, or the canonical messages."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from json import loads
from pathlib import Path
from typing import Any

from sessions_app.domain import dialects
from sessions_app.domain.bodies import written
from sessions_app.domain.jsjson import dumps, line, pieces
from sessions_app.domain.judging import OPENS_WITH
from sessions_app.domain.lowering import lower, lowerer
from sessions_app.domain.lowering.summary_request import summary_request
from sessions_app.domain.ndjson import lower_line
from sessions_app.domain.wire.lowered import Lowered, LoweringError, Origin
from sessions_app.management.base import (
    BAD_USAGE,
    FOUND_IT,
    SutureCommand,
    history_argument,
    one_session,
    open_path,
    path_argument,
    session_argument,
    session_target,
    target_arguments,
)


class Command(SutureCommand):
    help = "Write the request body that the next call would send, as JSON."
    examples = (
        ("suture lower customer.db --session ses_... --target anthropic-messages:anthropic/claude-opus-4-5", "a body"),
        ("suture lower - --ndjson < rows.ndjson", "row documents, a line each"),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        path_argument(parser)
        session_argument(parser)
        target_arguments(parser)
        history_argument(parser)
        parser.add_argument(
            "--as-stored", action="store_true", help="what the client sends today, without dedupe and drop"
        )
        parser.add_argument(
            "--summary",
            action="store_true",
            help="the summary request, which comes first where a compaction is pending, in place of the turn's",
        )
        parser.add_argument("--canonical", action="store_true", help="the canonical messages instead of a body")
        parser.add_argument("--provenance", metavar="FILE", help="write where each piece of the body comes from")
        parser.add_argument(
            "--ndjson",
            action="store_true",
            help="with -: a row document with its target a line in, all bodies a line out",
        )

    def run(self, *, path: str | None, ndjson: bool, target: str, **options: Any) -> int:
        if ndjson:
            if path != "-":
                raise ValueError("--ndjson reads from stdin: suture lower - --ndjson")
            return self._lines()
        if not target:
            raise ValueError("Name the --target, for example openai-chat:acme/model-1.")
        with open_path(path, options["input"]) as store:
            rows = store.read(one_session(store, options["session"]))
        decoded = dialects.reading(dialects.decode(rows), options["history"])
        wanted = session_target(target, options["thinking"], decoded)
        if wanted is None:
            return BAD_USAGE
        opens_with = lowerer(decoded).opens_with(decoded)
        if opens_with and not options["summary"]:
            self.say(OPENS_WITH[opens_with])
        try:
            if options["summary"]:
                lowered = summary_request(decoded)
            else:
                lowered = lower(decoded, wanted, repairs=not options["as_stored"])
            if options["canonical"]:
                result: Any = lowered.messages
                origins: Mapping[tuple[str | int, ...], Origin] = _canonical_origins(lowered)
            else:
                made = written(lowered, decoded, wanted)
                result, origins = made.body, made.provenance
                if not made.verified:
                    self.say("This writer is not verified against recordings of the client.")
        except LoweringError as problem:
            self.data(dumps({"error": {"kind": problem.kind, "message": problem.words}}))
            return FOUND_IT
        for piece in pieces(result):
            self.stdout.write(piece)
        self.data("")
        if options["provenance"]:
            _write_provenance(Path(options["provenance"]), origins)
        return 0

    def _lines(self) -> int:
        for number, given in enumerate(sys.stdin.buffer, 1):
            if not given.strip():
                continue
            try:
                answer = lower_line(loads(given, parse_constant=_no_constant))
            except (ValueError, RecursionError) as problem:
                answer = {"error": {"kind": "json", "message": f"not JSON: {problem}"}}
            except Exception as problem:  # one line must not end the stream
                self.say(f"line {number}: {type(problem).__name__}: {problem}")
                answer = {"error": {"kind": "internal", "message": "Suture failed on this line; see its messages."}}
            self.data(line(answer))
            self.stdout.flush()
        return 0


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


def _canonical_origins(lowered: Lowered) -> dict[tuple[str | int, ...], Origin]:
    return {
        (index, "content", place): origin
        for index, origins in enumerate(lowered.origins)
        for place, origin in enumerate(origins)
    }


def _write_provenance(file: Path, origins: Mapping[tuple[str | int, ...], Origin]) -> None:
    document = {
        ".".join(str(step) for step in position): {"message": origin.message, "part": origin.part}
        for position, origin in origins.items()
    }
    file.write_text(dumps(document) + "\n", encoding="utf-8")
