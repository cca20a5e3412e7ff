"""A session to take away: the print view, Markdown, and a request as a command of either shell."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client
from django.utils.html import escape

from sessions_app.domain.wire.target import make_target
from sessions_app.models import Finding, Part, Session
from sessions_app.web.curl import powershell_command
from tests.factories.people import folded
from tests.web.test_timeline import long_session

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "sk-" + "ant-" + "a1B2c3D4" * 4
HOSTILE = f"</pre><script>alert(1)</script>\n```\n# not a heading\n{KEY}"


def markdown_of(client: Client, session: Session) -> str:
    answer = client.get(f"/sessions/{session.pk}/markdown/")
    assert answer["content-disposition"].startswith("attachment")
    return b"".join(answer.streaming_content).decode()


def hostile(session: Session) -> Part:
    part = Part.objects.filter(session=session, kind="text")[0]
    part.data = json.dumps({"type": "text", "text": HOSTILE})
    part.save()
    return part


def test_paper_has_the_findings_first_states_as_words_and_every_body(alice: Client, blocked: Session) -> None:
    page = alice.get(f"/sessions/{blocked.pk}/?print=1").html
    finding = Finding.objects.filter(session=blocked, severity="blocked")[0]

    assert page.index("Findings (") < page.index("Turn 1")
    assert "<strong>Blocked.</strong>" in page
    assert f"<strong>Blocks</strong> <code>{finding.rule}</code>" in page
    for part in Part.objects.filter(session=blocked, kind="tool"):
        assert part.stored_id in page
        state = json.loads(str(part.value))["state"]
        assert folded(escape(str(state.get("output") or state.get("error")).strip())) in page
    assert "by alice" in page
    assert "<details" not in page.split('class="middle-page stack printed"')[1].split("</main>")[0]


def test_paper_says_what_it_leaves_out(alice: Client, blocked: Session) -> None:
    part = Part.objects.filter(session=blocked, kind="text")[0]
    part.data = '{"type":"text","text":"' + "x" * 5_000 + '"}'
    part.save()

    assert "1,000 more characters are not printed" in alice.get(
        f"/sessions/{blocked.pk}/?print=1"
    ).html  # fmt: skip


def test_paper_shows_hostile_text_as_text(alice: Client, blocked: Session) -> None:
    hostile(blocked)

    page = alice.get(f"/sessions/{blocked.pk}/?print=1").html

    assert "<script>alert" not in page
    assert KEY not in page


def test_markdown_holds_the_session_and_what_is_in_it_stays_text(alice: Client, blocked: Session) -> None:
    part = hostile(blocked)

    text = markdown_of(alice, blocked)

    assert "- Health: Blocked" in text
    assert "**Blocks** `duplicate-call-id-in-message`" in text
    assert f"`{part.stored_id}`" in text
    assert KEY not in text
    fences = re.findall(r"^(`{4,})\n(.*?)\n\1$", text, re.DOTALL | re.MULTILINE)
    assert any("# not a heading" in inside for _, inside in fences)
    outside = re.sub(r"^(`{3,})\n.*?\n\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "not a heading" not in outside
    assert "<script>" not in outside


def test_markdown_holds_all_turns_of_a_long_session(alice: Client) -> None:
    session = long_session(turns=450)

    text = markdown_of(alice, session)

    assert re.findall(r"^## Turn (\d+)$", text, re.MULTILINE) == [str(number) for number in range(1, 451)]
    assert text.count("answer 449.0") == 1


def test_titles_cannot_break_out_of_their_line(alice: Client, blocked: Session) -> None:
    Session.objects.filter(pk=blocked.pk).update(title="a\n# b <img src=x> [c](http://d)")

    first = markdown_of(alice, blocked).split("\n")[0]

    assert first == r"# a \# b \<img src=x\> \[c\](http://d)"


@pytest.mark.parametrize("protocol", ["anthropic-messages", "openai-chat", "openai-responses", "gemini"])
def test_the_powershell_command_names_the_file_and_holds_no_key(protocol: str) -> None:
    target = make_target("openai", "a'b’$(x)`n", "auto", protocol, "")

    command = powershell_command(target, "payload.json")

    assert "-InFile 'payload.json'" in command
    assert "$env:" in command
    assert "$(x)" not in command
    literals = re.sub(r"'(?:[^'‘’‚‛]|''|’’)*'", "", command)
    assert "a%27b" not in literals


def test_bedrock_has_no_powershell_command() -> None:
    assert powershell_command(make_target("bedrock", "m", "auto", "bedrock-converse", ""), "x") == ""


def test_the_payload_tab_offers_both_shells(alice: Client, blocked: Session) -> None:
    page = alice.get(f"/sessions/{blocked.pk}/payload/").html

    assert "curl " in page
    assert "Invoke-RestMethod" in page
