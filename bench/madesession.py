"""The rows of one made-up session as opencode 1.18 leaves them (docs/contract/formats.md#a3), whole and healthy."""

from __future__ import annotations

import base64
import random
import zlib
from functools import lru_cache
from typing import Any

from bench.makers import Maker, maker
from bench.wording import Wording
from tests.factories.bigstore import START, stored_id

VERSION = "1.18.33"
SPAN = 5_500_000_000
"""Milliseconds over which the sessions of a store begin; ids stay within one epoch (docs/contract/formats.md#a8)."""
LONGEST_OUTPUT = 50_000
"""Characters of an output after which the client cuts."""
COMPACTED_AT = 600_000
"""Characters since the last summary after which the client compacts."""
_TOOLS = {"bash": 30, "read": 30, "edit": 16, "grep": 10, "glob": 5, "write": 4, "todowrite": 5}
_ROOTS = ("shop", "api", "site", "infra", "mobile", "paper", "notes")

type Row = dict[str, Any]


def project(at: int) -> tuple[str, str]:
    """Id and folder of a project."""
    name = _ROOTS[at % len(_ROOTS)]
    return f"{zlib.crc32(name.encode()):08x}" * 5, f"/home/dev/{name}"


PROJECTS = len(_ROOTS)


class MadeSession:
    """``session``, ``messages`` and ``parts`` are rows as stored, but for ``data``, which stays a value so that
    somebody can damage it before it is written.

    ``number`` of ``of``: sessions begin evenly over ``SPAN``. It gets ``parts`` parts or a few more, where the last
    turn ends; one output of ``output`` characters where that is not 0.
    """

    def __init__(
        self,
        words: Wording,
        seed: int,
        number: int,
        of: int,
        parts: int = 0,
        output: int = 0,
        parent: str | None = None,
    ) -> None:
        self.words, self.dice = words, random.Random(f"{seed}:{number}")
        self.maker: Maker = maker(self.dice)
        self.ms = self.start = START + SPAN * number // of
        self.number, self._serial = number, number * 10_000_000
        self.id = stored_id("ses", self.ms, 1, self._serial)
        self.messages: list[Row] = []
        self.parts: list[Row] = []
        self._project, self._folder = project(self.dice.randrange(PROJECTS))
        self._sums = {"cost": 0.0, "input": 0, "output": 0, "reasoning": 0, "read": 0, "write": 0}
        self._since_summary = 0
        self._huge = output
        wanted = parts or max(8, min(2_000, int(self.dice.lognormvariate(4.8, 0.85))))
        while len(self.parts) < wanted:
            self._turn()
        self.session = self._session(number, parent)

    def _session(self, number: int, parent: str | None) -> Row:
        sums = self._sums
        return {
            "id": self.id,
            "project_id": self._project,
            "parent_id": parent,
            "slug": f"{self.words.word(self.dice)}-{self.words.word(self.dice)}-{number}",
            "directory": self._folder,
            "path": "",
            "title": self.words.prose(self.dice, 6)[:80],
            "version": VERSION,
            "summary_additions": 0,
            "summary_deletions": 0,
            "summary_files": 0,
            "cost": sums["cost"],
            "tokens_input": sums["input"],
            "tokens_output": sums["output"],
            "tokens_reasoning": sums["reasoning"],
            "tokens_cache_read": sums["read"],
            "tokens_cache_write": sums["write"],
            "agent": "build",
            "model": f'{{"id":"{self.maker.model}","providerID":"{self.maker.provider}","variant":"default"}}',
            "time_created": self.start,
            "time_updated": self.ms,
        }

    def _turn(self) -> None:
        dice = self.dice
        user = self._user()
        self._part(user, {"type": "text", "text": self.words.prose(dice, dice.randint(4, 60))})
        if self.maker.images and dice.random() < 0.01:
            self._part(user, {"type": "file", "mime": "image/png", "filename": "screen.png", "url": _picture()})
        for at in range(min(40, int(dice.expovariate(1 / 6)) + 1)):
            self._step(user, first=at == 0)
        self._answer(user, self.words.prose(dice, dice.randint(20, 200)), "build")
        if self._since_summary > COMPACTED_AT:
            self._compact()

    def _compact(self) -> None:
        asked = self._user()
        self._part(asked, {"type": "compaction", "auto": True, "overflow": False})
        self._answer(asked, self.words.prose(self.dice, 400), "compaction")
        self._since_summary = 0
        again = self._user()
        on = self.words.prose(self.dice, 12)
        self._part(again, {"type": "text", "metadata": {"compaction_continue": True}, "synthetic": True, "text": on})
        self._answer(again, self.words.prose(self.dice, 40), "build")

    def _step(self, user: str, *, first: bool) -> None:
        dice = self.dice
        message = self._assistant(user, "tool-calls", "build")
        if first or dice.random() < self.maker.thinks:
            thought = self.maker.reasoning(dice, self.words.prose(dice, dice.randint(20, 160)))
            self._part(message, {**thought, "time": self._took(900)})
        if dice.random() < 0.5:
            self._text(message, self.words.prose(dice, dice.randint(5, 40)))
        for at in range(1 if dice.random() < 0.85 else dice.randint(2, 4)):
            self._call(message, first=at == 0)
        if dice.random() < 0.15:
            file = f"{self._folder}/src/{self.words.word(dice)}.py"
            self._part(message, {"type": "patch", "hash": dice.randbytes(20).hex(), "files": [file]})
        self._finish(message, "tool-calls")

    def _answer(self, user: str, text: str, mode: str) -> None:
        message = self._assistant(user, "stop", mode)
        self._text(message, text)
        self._finish(message, "stop")

    def _text(self, message: str, text: str) -> None:
        self._part(message, {"type": "text", "text": text, "time": self._took(400)} | self._beside("msg_", first=False))

    def _call(self, message: str, *, first: bool) -> None:
        dice, words = self.dice, self.words
        tool = dice.choices(list(_TOOLS), list(_TOOLS.values()))[0]
        size = self._huge or min(LONGEST_OUTPUT, int(dice.lognormvariate(7.35, 1.7)) + 20)
        self._huge = 0
        output = words.output(dice, size)
        self._since_summary += size
        file = f"{self._folder}/src/{words.word(dice)}_{words.word(dice)}.py"
        asked, metadata, title = _asked(tool, file, words, dice)
        metadata |= {"output": output[:30_000]} if tool == "bash" else {}
        state = {
            "status": "completed",
            "input": asked,
            "output": output,
            "metadata": {**metadata, "truncated": size == LONGEST_OUTPUT},
            "title": title,
            "time": self._took(300),
        }
        self._part(
            message,
            {"type": "tool", "tool": tool, "callID": self.maker.call_id(dice), "state": state}
            | self._beside("fc_", first=first),
        )

    def _beside(self, prefix: str, *, first: bool) -> Row:
        return self.maker.beside(self.dice, prefix, first=first)

    def _user(self) -> str:
        model = {"providerID": self.maker.provider, "modelID": self.maker.model}
        data = {"role": "user", "agent": "build", "model": model, "summary": {"diffs": []}}
        return self._message(data)

    def _assistant(self, user: str, finish: str, mode: str) -> str:
        data: Row = {
            "parentID": user,
            "role": "assistant",
            "mode": mode,
            "agent": mode,
            "path": {"cwd": self._folder, "root": self._folder},
            "cost": 0,
            "tokens": {},
            "modelID": self.maker.model,
            "providerID": self.maker.provider,
            "finish": finish,
        }
        message = self._message(data | ({"summary": True} if mode == "compaction" else {}))
        self._part(message, {"snapshot": self.dice.randbytes(20).hex(), "type": "step-start"})
        return message

    def _finish(self, message: str, reason: str) -> None:
        dice = self.dice
        read, write = self._since_summary // 4, dice.randint(100, 4_000)
        used = {"input": dice.randint(2, 900), "output": dice.randint(40, 2_000), "reasoning": dice.randint(0, 300)}
        tokens = {"total": sum(used.values()) + read + write, **used, "cache": {"write": write, "read": read}}
        cost = round(sum(used.values()) * 0.000015 + read * 0.0000003 + write * 0.00000375, 6)
        part = {"reason": reason, "snapshot": dice.randbytes(20).hex(), "type": "step-finish"}
        self._part(message, {**part, "tokens": tokens, "cost": cost})
        for name, count in (*used.items(), ("read", read), ("write", write), ("cost", cost)):
            self._sums[name] += count
        self.messages[-1]["data"] |= {"tokens": tokens, "cost": cost}
        self.messages[-1]["data"]["time"]["completed"] = self.ms
        self.messages[-1]["time_updated"] = self.ms

    def _message(self, data: Row) -> str:
        self._tick(40)
        row = {"id": stored_id("msg", self.ms, 1, self._serial), "session_id": self.id}
        times = {"time_created": self.ms, "time_updated": self.ms}
        self.messages.append({**row, **times, "data": {**data, "time": {"created": self.ms}}})
        return str(row["id"])

    def _part(self, message: str, data: Row) -> None:
        self._tick(10)
        row = {"id": stored_id("prt", self.ms, 1, self._serial), "message_id": message, "session_id": self.id}
        self.parts.append({**row, "time_created": self.ms, "time_updated": self.ms, "data": data})

    def _took(self, most: int) -> Row:
        begun = self.ms + 5
        self._tick(self.dice.randint(10, most))
        return {"start": begun, "end": self.ms}

    def _tick(self, ms: int) -> None:
        self.ms += ms
        self._serial += 1


def _asked(tool: str, file: str, words: Wording, dice: random.Random) -> tuple[Row, Row, str]:
    """Arguments, metadata and title of a call."""
    if tool == "bash":
        command = f"{words.word(dice)} --{words.word(dice)} {file}"
        return {"command": command, "description": words.prose(dice, 4)}, {"exit": 0}, command
    if tool == "edit":
        old, new = (words.output(dice, dice.randint(40, 1_200)) for _ in range(2))
        changed = {"file": file, "patch": new, "additions": 3, "deletions": 2}
        return {"filePath": file, "oldString": old, "newString": new}, {"diff": new, "filediff": changed}, file
    if tool == "write":
        return {"filePath": file, "content": words.output(dice, dice.randint(200, 12_000))}, {"exists": False}, file
    if tool == "todowrite":
        todos = [
            {"content": words.prose(dice, 5), "status": "pending", "priority": "high"}
            for _ in range(dice.randint(1, 6))
        ]
        return {"todos": todos}, {"todos": todos}, f"{len(todos)} todos"
    if tool == "read":
        return {"filePath": file, "offset": dice.randint(0, 900), "limit": 200}, {"preview": ""}, file
    return {"pattern": words.word(dice), "path": file.rpartition("/")[0]}, {"matches": dice.randint(0, 90)}, file


@lru_cache(maxsize=1)
def _picture() -> str:
    """A PNG of noise as a data URL, 30 kB."""
    side = 85
    raw = random.Random(1).randbytes(side * (side * 3 + 1))
    raw = b"".join(b"\0" + raw[at * 255 : at * 255 + side * 3] for at in range(side))
    head = side.to_bytes(4) * 2 + bytes((8, 2, 0, 0, 0))
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(raw, 0)), (b"IEND", b""))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        len(body).to_bytes(4) + kind + body + zlib.crc32(kind + body).to_bytes(4) for kind, body in chunks
    )
    return "data:image/png;base64," + base64.b64encode(data).decode()
