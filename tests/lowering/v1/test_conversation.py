"""The text a compaction summarises is what the real client sent for its summary."""

from __future__ import annotations

from sessions_app.domain.dialects import decode
from sessions_app.domain.lowering.conversation import conversation
from tests.each import for_each
from tests.factories.recordings import RECORDINGS, corpus_rows
from tests.factories.v1rows import assistant, session, text, tool, user
from tests.lowering.v1.test_parity import AFTER_TASK

# The client left the newest messages of these two out of its summary; by which budget is not known
# (docs/contract/wire.md#6.8.b).
CUT_SHORT = ("v1_sumreq_tools_chat", "v1_sumreq_tools_anth")


def between(text, tag):
    _, found, rest = text.partition(f"<{tag}>\n")
    return rest.partition(f"\n</{tag}>")[0] if found else None


@for_each("name", AFTER_TASK)
def test_the_conversation_is_the_recorded_summary_requests(name):
    recorded = RECORDINGS[name]
    content = recorded["messages"][0]["content"]
    sent = content if isinstance(content, str) else content[0]["text"]
    made = conversation(decode(corpus_rows(name, recorded["session"])), "continue")
    if name in CUT_SHORT:
        assert made.text.startswith(between(sent, "conversation"))
    else:
        assert made.text == between(sent, "conversation")
    prior = between(sent.partition("</conversation>")[2], "prior-summary")
    assert made.prior == prior


def test_long_outputs_are_cut_and_failures_said():
    made = conversation(
        session(user(text("q")), assistant(tool("a", output="x" * 2001), tool("b", "error"), tool("c", "running")))
    )
    assert made.text.endswith(
        'x\n[truncated]\n[Assistant tool call]: bash({"a":1})\n[Tool error]: bad\n[Assistant tool call]: bash({"a":1})'
    )
