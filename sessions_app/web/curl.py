"""A request as a shell command. It holds no key: keys are named as environment variables, the body is read from the
downloaded file."""

from __future__ import annotations

from shlex import quote
from urllib.parse import quote as url_quote

from sessions_app.domain.wire.target import Target


def powershell_command(target: Target, file_name: str) -> str:
    """The same for PowerShell. Bedrock signs its requests, which PowerShell cannot do by itself: "" there."""
    model = url_quote(target.model, safe="")
    known = {
        "anthropic-messages": (
            "https://api.anthropic.com/v1/messages",
            {"x-api-key": "$env:ANTHROPIC_API_KEY", "anthropic-version": "'2023-06-01'"},
        ),
        "openai-chat": (
            "https://api.openai.com/v1/chat/completions",
            {"Authorization": '"Bearer $env:OPENAI_API_KEY"'},
        ),
        "openai-responses": (
            "https://api.openai.com/v1/responses",
            {"Authorization": '"Bearer $env:OPENAI_API_KEY"'},
        ),
        "gemini": (
            f"https://generativelanguage.googleapis.com/v1beta/models/{model}:generateContent",
            {"x-goog-api-key": "$env:GEMINI_API_KEY"},
        ),
    }
    if target.protocol not in known:
        return ""
    url, headers = known[target.protocol]
    pairs = "; ".join(f"{_ps(name)} = {value}" for name, value in headers.items())
    return (
        f"Invoke-RestMethod -Method Post -Uri {_ps(url)} `\n"
        f"  -Headers @{{ {pairs} }} `\n"
        f"  -ContentType 'application/json; charset=utf-8' -InFile {_ps(file_name)}"
    )


def _ps(text: str) -> str:
    """A literal string of PowerShell: typographic quotes end one too."""
    doubled = "".join(mark * 2 if mark in "'\u2018\u2019\u201a\u201b" else mark for mark in text)
    return f"'{doubled}'"


def curl_command(target: Target, file_name: str) -> str:
    """``curl`` for a POSIX shell."""
    model = url_quote(target.model, safe="")
    url, headers = {
        "anthropic-messages": (
            '"${ANTHROPIC_BASE_URL:-https://api.anthropic.com}/v1/messages"',
            ['"x-api-key: $ANTHROPIC_API_KEY"', quote("anthropic-version: 2023-06-01")],
        ),
        "openai-chat": (
            '"${OPENAI_BASE_URL:-https://api.openai.com/v1}/chat/completions"',
            ['"Authorization: Bearer $OPENAI_API_KEY"'],
        ),
        "openai-responses": (
            '"${OPENAI_BASE_URL:-https://api.openai.com/v1}/responses"',
            ['"Authorization: Bearer $OPENAI_API_KEY"'],
        ),
        "gemini": (
            quote(f"https://generativelanguage.googleapis.com/v1beta/models/{model}:generateContent"),
            ['"x-goog-api-key: $GEMINI_API_KEY"'],
        ),
        "bedrock-converse": (
            f'"https://bedrock-runtime.$AWS_REGION.amazonaws.com/model/{model}/converse"',
            [],
        ),
    }[target.protocol]
    lines = [f"curl {url}"]
    if target.protocol == "bedrock-converse":
        lines.append('--aws-sigv4 "aws:amz:$AWS_REGION:bedrock" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"')
    lines += [f"-H {header}" for header in [*headers, quote("content-type: application/json")]]
    lines.append(f"--data-binary @{quote(file_name)}")
    return " \\\n  ".join(lines)
