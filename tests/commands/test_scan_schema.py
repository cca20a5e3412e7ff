"""The scan document is what its JSON Schema says, for everything that the real client or a case left behind."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import sessions_app
from sessions_app import samples
from tests.each import for_each, stem
from tests.paths import CASES, CORPUS

SCHEMA = json.loads((Path(sessions_app.__file__).parent / "schemas" / "scan.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
LINE = jsonschema.Draft202012Validator({**SCHEMA["$defs"]["session"], "$defs": SCHEMA["$defs"]})


def test_the_schema_itself_is_valid():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@for_each("path", sorted(CASES.glob("*.json")), name=stem)
def test_every_case_gives_a_valid_document(suture, path):
    run = suture("scan", "-", "--json", stdin=json.dumps(json.loads(path.read_text())["input"]))

    VALIDATOR.validate(run.json)


@for_each("path", sorted(CORPUS.glob("*.db")), name=stem, one_in=20)
def test_databases_of_the_real_client_give_valid_documents(suture, path):
    VALIDATOR.validate(suture("scan", path, "--json").json)


def test_each_ndjson_line_is_a_session_object(suture, tmp_path):
    for line in suture("scan", samples.unpack(tmp_path), "--ndjson").lines:
        LINE.validate(line)


def test_an_unreadable_session_is_in_the_document_too(suture, poisoned, monkeypatch):
    from sessions_app import stores

    def read(self, session_id):
        raise stores.StoreError("corrupt", self.path, "The page is damaged.")

    monkeypatch.setattr(stores.SqliteStore, "read", read)

    run = suture("scan", poisoned, "--json")

    VALIDATOR.validate(run.json)
    assert (run.code, run.json["sessions"][0]["health"]) == (1, "unreadable")


@pytest.mark.parametrize("missing", ["source", "sessions"])
def test_a_document_without_its_parts_is_not_valid(missing):
    document = {"source": {"path": "-", "kind": "rows", "dialects": []}, "sessions": []}
    del document[missing]

    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(document)
