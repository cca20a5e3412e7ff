"""Nothing that looks like a key leaves in a redacted bundle, wherever it stood; depth is no way around the mask."""

from __future__ import annotations

import json

import pytest

from sessions_app.domain.handback.freshids import renamed
from sessions_app.domain.handback.redact import bundle
from sessions_app.domain.rowdoc import parse_value

SECRETS = [
    "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdEf",
    "sk-proj-Zz9Yy8Xx7Ww6Vv5Uu4Tt3Ss2Rr1Qq0",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuv",
    "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "xoxb-123456789012-1234567890123-AbCdEfGhIjKl",
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "glpat-AbCdEfGhIjKlMnOpQrSt",
    "npm_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789",
    "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "postgres://bob:s3cretpw@host/db",
]


def session(*datas: object, **columns: object):
    parts = [
        {
            "id": f"prt_{index}",
            "message_id": "msg_1",
            "session_id": "ses_1",
            "time_created": 1,
            "time_updated": 1,
            "data": data if isinstance(data, str) else json.dumps(data),
        }
        for index, data in enumerate(datas)
    ]
    message = {
        "id": "msg_1",
        "session_id": "ses_1",
        "time_created": 1,
        "time_updated": 1,
        "data": '{"role":"assistant","modelID":"m","providerID":"p"}',
        "parts": parts,
    }
    row = {
        "id": "ses_1",
        "project_id": "global",
        "title": "t",
        "directory": "/x",
        "version": "1.18.33",
        "time_created": 1,
        "time_updated": 1,
    }
    return parse_value({"session": {**row, **columns}, "messages": [message]})


@pytest.mark.parametrize("secret", SECRETS)
def test_a_key_is_masked_in_every_place(secret):
    state = {
        "status": "completed",
        "input": {"a": secret, secret: [secret]},
        "output": secret,
        "title": secret,
        "metadata": {secret: secret},
        "time": {"start": 1, "end": 2},
    }
    rows = session(
        {"type": "text", "text": f"my key is {secret}, ok", "metadata": {secret: secret}},
        {"type": "tool", "callID": "c1", "tool": "bash", "state": state},
        {
            "type": "tool",
            "callID": secret,
            "tool": secret,
            "state": {**state, "input": {"json": json.dumps({secret: secret})}},
        },
        {"type": "file", "mime": secret, "filename": secret, "url": secret},
        {"type": "agent", "name": secret},
        {"type": "patch", "hash": secret, "files": [secret]},
        {"type": secret, secret: secret},
        title=secret,
        directory=f"/home/{secret}",
        agent=secret,
        metadata=json.dumps({secret: secret}),
    )
    assert secret not in "".join(bundle(rows, {}))


def test_a_tool_whose_name_is_a_path_does_not_tell_the_path():
    rows = session(
        {
            "type": "tool",
            "callID": "c",
            "tool": "/home/carol/run.sh",
            "state": {"status": "pending", "input": {}, "raw": ""},
        }
    )
    assert "carol" not in "".join(bundle(rows, {}))


@pytest.mark.parametrize("depth", [900, 5_000])
def test_text_nested_beyond_any_stack_is_masked_and_can_be_exported(depth):
    deep = '{"a":' * depth + '"very private"' + "}" * depth
    rows = session(
        f'{{"type":"tool","callID":"c","tool":"bash","state":{{"status":"completed","input":{deep},"output":"x"}}}}'
    )
    assert "private" not in "".join(bundle(rows, {}))
    assert renamed([rows])[0]


@pytest.mark.parametrize(
    "address", ["jane.doe+x@mail.example.com", "192.168.17.4", "2001:db8:85a3::8a2e:370:7334", "fe80::1"]
)
def test_an_address_of_a_person_or_machine_is_masked_also_where_it_is_a_name_or_a_call_id(address: str) -> None:
    def call(name: str, call_id: str) -> dict[str, object]:
        state = {"status": "completed", "input": {}, "output": "x", "title": "", "metadata": {}, "time": {"start": 1}}
        return {"type": "tool", "tool": name, "callID": call_id, "state": state}

    calls = call(address, "c1"), call("mcp_" + address, f"call-{address}"), call("bash", address)
    text = "".join(bundle(session(*calls), {}))

    assert address not in text
    assert text.count('\\"tool\\":\\"bash\\"') == 1


def test_names_with_a_version_or_colons_are_no_addresses() -> None:
    names = ["claude-3-5-sonnet@20241022", "functions.bash:0", "anthropic.claude-v2:1", "1.18.33", "call:1:2"]
    made = [{"type": "tool", "tool": name, "callID": name, "state": {"status": "pending"}} for name in names]
    text = "".join(bundle(session(*made), {}))
    assert all(name in text for name in names)
