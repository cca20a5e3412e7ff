"""Payload and raw rows are read by one reader: search through all of them, an outline, pointers of places."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.test import Client

from sessions_app.models import Message, Part, Session
from sessions_app.web.jsonlines import CUT, json_lines, legible, line_html
from tests.web.test_timeline import long_session

pytestmark = pytest.mark.django_db(transaction=True)


def got(client: Client, path: str, *given: Any, **named: Any) -> str:
    """The page as it is; white space counts in JSON."""
    return client.get(path, *given, **named).content.decode()


def entries(page: str) -> list[str]:
    return re.findall(r'<details\s+class="payload-message[^"]*"\s+id="([\w-]+)"', page)


def place(page: str) -> str:
    """The line that is marked as the place."""
    found = re.search(r'<span class="line" id="place">.*?<span class="json">(.*?)</span></span>', page)
    assert found, "no place is marked"
    return html.unescape(re.sub(r"<[^>]+>", "", found[1]))


def pointed(document: Any, pointer: str) -> Any:
    for name in pointer.split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        document = document[int(name)] if isinstance(document, list) else document[name]
    return document


def test_lines_are_those_of_json_and_every_pointer_leads_to_what_begins_there() -> None:
    value = {"a/b": [1, {"~": []}, "x"], "": {}, "n": None, "t": [[True, 2.5]], "s": 'quote " and \\'}

    lines = list(json_lines(value))

    assert "\n".join(line.text for line in lines) == json.dumps(value, indent=2, ensure_ascii=False)
    for line in lines:
        told = line.text.strip().removesuffix(",")
        told = re.sub(r'^"(?:[^"\\]|\\.)*": ', "", told)
        if told not in ("{", "[", "}", "]"):
            assert json.loads(told) == pointed(value, line.pointer)


def test_a_long_text_is_cut_around_what_is_looked_for_and_no_half_of_a_key_is_left() -> None:
    key = "sk-ant-" + "k" * 40
    [line] = json_lines("a" * (CUT - 10) + " " + key + " " + "b" * 9_000 + " needle", wanted="needle")
    assert "needle" in line.text and line.left_out > 0
    [line] = json_lines("a" * (CUT - 10) + " " + key + "b" * 9_000)
    assert "kkkk" not in legible(line.text)


def test_a_line_is_escaped_and_what_is_looked_for_marked() -> None:
    assert line_html('"<b>": "Hello"', "hello") == "&quot;&lt;b&gt;&quot;: &quot;<mark>Hello</mark>&quot;"
    assert '<span class="nt">&quot;&lt;b&gt;&quot;</span>: <span class="s2">' in line_html('"<b>": "x"')


def test_a_search_finds_a_place_in_any_row_and_steps_to_the_next(alice: Client) -> None:
    session = long_session(turns=300)
    page = got(alice, f"/sessions/{session.pk}/raw/?find=question+299")

    assert '"question 299"' in place(page)
    assert "Place 1 of 1" in page
    assert "message-598" in entries(page) and "message-0" not in entries(page)

    many = got(alice, f"/sessions/{session.pk}/raw/?find=QUESTION+29&match=2")
    assert '"question 290"' in place(many)
    assert re.search(r'href="[^"]*match=3#place"', many) and re.search(r'href="[^"]*match=1#place"', many)
    assert "Nothing here holds" in got(alice, f"/sessions/{session.pk}/raw/?find=nothing+like+it")


def test_a_search_of_the_payload_finds_names_and_values_as_they_are_shown(alice: Client, blocked: Session) -> None:
    address = f"/sessions/{blocked.pk}/payload/"
    body = got(alice, f"{address}?download=1")
    page = got(alice, address, {"find": '"tool_call_id": "functions', "match": 2})

    assert place(page).strip().startswith('"tool_call_id": "functions.')
    assert f"Place 2 of {body.count('tool_call_id')}" in re.sub(r"\s+", " ", page)
    part = alice.get(address, {"find": "model"}, headers={"HX-Request": "true", "HX-Target": "reader"})
    assert "<html" not in part.content.decode() and place(part.content.decode()).strip().startswith('"model"')


@pytest.mark.parametrize("tab", ["payload", "raw"])
def test_every_pointer_of_an_open_message_leads_back_to_its_line(alice: Client, blocked: Session, tab: str) -> None:
    address = f"/sessions/{blocked.pk}/{tab}/"
    opened = got(alice, f"{address}?message=1", headers={"HX-Request": "true"})
    pointers = re.findall(r'<button form="reader-pointers" name="at" value="([^"]+)">', opened)
    assert len(pointers) >= 4 and "<html" not in opened

    for pointer in pointers[:: max(1, len(pointers) // 6)]:
        page = got(alice, address, {"at": html.unescape(pointer)})
        assert pointer.rpartition("/")[2] in place(page) or place(page).strip()[0] in "{["
        assert f'data-copy="{pointer}"' in page


def test_the_pointer_of_the_payload_is_one_of_the_downloaded_body(alice: Client, blocked: Session) -> None:
    body = alice.get(f"/sessions/{blocked.pk}/payload/?download=1").json()
    name = next(n for n, message in enumerate(body["messages"]) if message.get("tool_calls"))
    at = f"/messages/{name}/tool_calls/0/id"

    page = got(alice, f"/sessions/{blocked.pk}/payload/", {"at": at})

    assert place(page).strip() == f'"id": "{pointed(body, at)}",'
    assert 'id="reader-pointers"' in page and "Show in the timeline" in page


def test_raw_shows_the_rows_of_parts_and_its_pointers_are_those_of_the_row_document(
    alice: Client, blocked: Session
) -> None:
    part = Part.objects.filter(session=blocked, kind="tool")[0]
    message = Message.objects.get(session=blocked, stored_id=part.message_stored_id)
    rows = alice.get(f"/api/v1/sessions/{blocked.pk}/export?as=rows").json()
    number = [row["id"] for row in rows["messages"][message.position]["parts"]].index(part.stored_id)
    at = f"/messages/{message.position}/parts/{number}/data/tool"

    page = got(alice, f"/sessions/{blocked.pk}/raw/", {"at": at})

    assert place(page).strip() == f'"tool": "{part.tool}",'
    assert f"?at={part.stored_id}" in page


@pytest.mark.parametrize("at", ["/nowhere/1", "/messages/99999", "/messages/0/no/such", "99999", "x"])
def test_a_pointer_that_leads_nowhere_is_said(alice: Client, blocked: Session, at: str) -> None:
    for tab in ("payload", "raw"):
        assert "Nothing stands at" in got(alice, f"/sessions/{blocked.pk}/{tab}/", {"at": at})


def test_a_number_leads_to_its_message(alice: Client) -> None:
    session = long_session(turns=300)
    page = got(alice, f"/sessions/{session.pk}/raw/?at=555")
    assert "message-555" in entries(page) and place(page) in ("{", "{}")


def test_of_a_very_long_message_the_beginning_is_shown_and_all_of_it_when_asked(alice: Client) -> None:
    session = long_session(turns=2)
    Message.objects.filter(session=session, position=0).update(data=json.dumps({"many": list(range(3_000))}))
    address = f"/sessions/{session.pk}/raw/?message=0"

    page = got(alice, address)
    assert page.count('name="at" value="/messages/0/data/many/') < 1_100 and "Show all lines" in page
    assert got(alice, f"{address}&lines=all").count('value="/messages/0/data/many/') >= 3_000
    beyond = got(alice, f"/sessions/{session.pk}/raw/?at=/messages/0/data/many/2999")
    assert place(beyond).strip() == "2999"


def test_a_row_that_is_no_json_is_shown_as_it_is(alice: Client) -> None:
    session = long_session(turns=1)
    Message.objects.filter(session=session, position=0).update(data='{"cut": <off>\nhere')
    page = got(alice, f"/sessions/{session.pk}/raw/?message=0")
    assert "&quot;cut&quot;: &lt;off&gt;" in page and "here" in page
