"""What a command knows of a session's model: by --input, and by the client's own configuration."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.paths import CORPUS, REPORTS

HEIC = REPORTS / "media-type-heic.json"


def sent(run: Any) -> str:
    return json.dumps(run.json)


def test_what_the_model_does_not_read_becomes_a_text(suture: Any) -> None:
    target = ("--target", "openai-chat:acme/m-1", "--as-stored")

    assert "data:image/heic" in sent(suture("lower", HEIC, *target))
    assert 'Cannot read \\"a.heic\\" (this model does not support image input)' in sent(
        suture("lower", HEIC, *target, "--input", "text")
    )


@pytest.mark.parametrize("command", ["scan", "repair", "lower", "export", "locate", "probe", "compact"])
def test_an_input_that_is_none_is_bad_usage(suture: Any, command: str) -> None:
    more = {"locate": ("--error", "x"), "lower": ("--target", "openai-chat"), "repair": ("--dry-run",)}.get(command, ())
    run = suture(command, HEIC, "--input", "text,imgae", *more)

    assert run.code == 2
    assert "did you mean image" in run.err


def test_scan_says_whose_word_it_is(suture: Any) -> None:
    told = suture("scan", HEIC, "--input", "pdf", "--all")
    [session] = suture("scan", HEIC, "--input", "pdf", "--json").json["sessions"]

    assert "reads text, pdf; @ai-sdk/anthropic, as --input says" in told.out
    assert session["health"] == "at-risk"
    assert (session["target"]["input"], session["target"]["known_by"]) == (["text", "pdf"], "hand")


def test_scan_knows_the_clients_configuration(suture: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "OPENCODE_CONFIG", "OPENCODE_DB"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".config/opencode").mkdir(parents=True)
    database = tmp_path / ".local/share/opencode/opencode.db"
    database.parent.mkdir(parents=True)
    shutil.copyfile(CORPUS / "clean.db", database)
    provider = {"npm": "@ai-sdk/groq", "options": {"apiKey": "sk-secret"}, "models": {"fake-1": {}}}
    (tmp_path / ".config/opencode/opencode.json").write_text(json.dumps({"provider": {"fake": provider}}))

    told, document = suture("scan", "--all"), suture("scan", "--json")

    assert "fake/fake-1: reads text; @ai-sdk/groq, from your configuration" in told.out
    [session] = document.json["sessions"]
    assert (session["target"]["package"], session["target"]["known_by"]) == ("@ai-sdk/groq", "configuration")
    assert "sk-secret" not in told.out + document.out


def test_rule_and_verdict_say_the_same_of_an_image_type(suture: Any, tmp_path: Path) -> None:
    """What Anthropic and Bedrock refuse, Gemini takes."""
    document = json.loads(HEIC.read_text())
    document["messages"] = [message for message in document["messages"] if "error" not in message["data"]]
    stored = json.dumps(document)
    [session] = suture("scan", HEIC, "--json").json["sessions"]
    gemini = tmp_path / "gemini.json"
    gemini.write_text(stored.replace('"anthropic"', '"google"').replace("claude-opus-4-5", "gemini-3-pro"))
    bedrock = tmp_path / "bedrock.json"
    bedrock.write_text(stored.replace('"anthropic"', '"amazon-bedrock"').replace("claude-", "anthropic.claude-"))

    assert session["health"] == "blocked"
    [violation] = session["verdicts"]["anthropic-messages"]["violations"]
    assert violation["error"].startswith("messages.0.content.1.image.source.base64.media_type: Input should be")
    assert "media-rejected" in [finding["rule"] for finding in session["findings"] if finding["severity"] == "blocked"]
    [at_google] = suture("scan", gemini, "--json").json["sessions"]
    assert "media-rejected" not in [finding["rule"] for finding in at_google["findings"]]
    [at_bedrock] = suture("scan", bedrock, "--json").json["sessions"]
    assert (at_bedrock["health"], at_bedrock["verdicts"]["bedrock-converse"]["refusal"][:34]) == (
        "blocked",
        "Unsupported image mime type: image",
    )


def test_cerebras_reads_reasoning_in_its_own_member(suture: Any) -> None:
    target = "openai-chat:cerebras/gpt-oss-120b"
    run = suture("lower", REPORTS / "cerebras-reasoning-field.json", "--target", target, "--as-stored")

    first, *others = [message for message in run.json["messages"] if message["role"] == "assistant"]
    assert "not verified" not in run.err
    assert first["reasoning"] == "hmm"
    assert "reasoning_content" not in sent(run)
    assert all(answer["content"] is None for answer in (first, *others) if "tool_calls" in answer)


def test_ids_for_a_model_in_capitals_are_repaired_as_they_are_sent(suture: Any, tmp_path: Path) -> None:
    """The client makes ids plain for "claude-..." alone (docs/contract/wire.md#6.9)."""
    mended = tmp_path / "mended.json"
    suture("repair", REPORTS / "claude-in-capitals.json", "--output", mended)

    [session] = suture("scan", mended, "--json").json["sessions"]
    assert session["health"] == "healthy"
