from __future__ import annotations

import json
from dataclasses import replace

import pytest

from onlooker.decision import GENERIC, JOYVL, Delegate, Respond, canonical, summary_prompt
from onlooker.memory.entries import CancelFact, Instruction, SummaryRequest
from onlooker.types import FrameRef, InstructionId, Lifetime, Ms, canonical_bytes
from tests.decision.scenes import frame, query, tick

pytestmark = pytest.mark.pure

WAITING = Instruction(InstructionId("q1"), "Tell me when a cat comes.", Lifetime(), Ms(0))
CHUNK = SummaryRequest(
    "s1",
    "chunk",
    1,
    Ms(0),
    Ms(3_000),
    ticks=(
        tick(0, query(), reply="</silence>"),
        tick(1, frames=2, reply=canonical(Respond("A cat comes."), JOYVL.text)),
        tick(2, CancelFact(InstructionId("q1"), "Old.", Ms(0)), reply="</silence>"),
        tick(3, reply=canonical(Delegate("I'll ask.", "Which breed?"), JOYVL.text)),
    ),
    instructions=(WAITING,),
)
BLOCK = SummaryRequest(
    "s2",
    "block",
    1,
    Ms(0),
    Ms(20_000),
    texts=((Ms(0), Ms(9_500), "A cat came."), (Ms(9_500), Ms(20_000), "It left.")),
    instructions=(WAITING,),
)


def read(request: SummaryRequest, dialect=JOYVL, language="en") -> tuple[str, list[str]]:
    """System text, and the parts of the user message."""
    messages, _ = summary_prompt(dialect, request, language)
    system, user = json.loads(canonical_bytes(messages))
    assert (system["role"], user["role"]) == ("system", "user")
    return system["content"], [part.get("text", "picture") for part in user["content"]]


def test_a_chunk_shows_pictures_under_labels_with_what_was_asked_and_said():
    _, parts = read(CHUNK)
    assert parts[1:-1] == [
        "Asked: Tell me when a cat comes.\n",
        "<0.0 seconds>\n", "picture",
        "<1.0 seconds>\n", "picture", "picture", "\nSaid: A cat comes.\n",
        "[Query Cancelled] Old.\n", "<2.0 seconds>\n", "picture",
        "<3.0 seconds>\n", "picture", "\nSaid: I'll ask. Which breed?\n",
    ]  # fmt: skip
    messages, _ = summary_prompt(JOYVL, CHUNK)
    assert [one for one in messages if isinstance(one, FrameRef)] == [
        frame(0), frame(4, 1_000), frame(5, 1_000), frame(8, 2_000), frame(12, 3_000),
    ]  # fmt: skip


def test_the_writer_is_told_what_the_user_waits_for_and_only_then():
    assert read(CHUNK)[1][0] == "What the user is waiting for:\n- Tell me when a cat comes.\n\n"
    assert read(BLOCK)[1][0] == read(CHUNK)[1][0]
    assert "waiting for:" not in "".join(read(replace(CHUNK, instructions=()))[1])


def test_the_users_orders_are_not_orders_to_the_writer():
    body = "".join(read(CHUNK)[1])
    assert JOYVL.text.query_header not in body
    assert "</response>" not in body


def test_a_block_rolls_the_summaries_up_under_their_ranges():
    _, parts = read(BLOCK, GENERIC)
    assert parts[1:-1] == [
        "[Time 0.0 s to 9.5 s]\nA cat came.\n\n",
        "[Time 9.5 s to 20.0 s]\nIt left.\n\n",
    ]


@pytest.mark.parametrize("request_", [CHUNK, BLOCK], ids=["chunk", "block"])
def test_b11_summaries_are_written_in_the_language_of_the_session(request_):
    for code, name in (("en", "English"), ("de", "German"), ("zh", "Chinese")):
        assert f"in {name}." in read(request_, language=code)[1][-1]


@pytest.mark.parametrize("request_", [CHUNK, BLOCK], ids=["chunk", "block"])
def test_the_writer_is_asked_for_what_a_later_question_may_need(request_):
    system, _ = read(request_)
    for wanted in ("cannot be undone", "numbers", "end of the", "times in seconds", "facts"):
        assert wanted in system


def test_sampling_is_the_dialects_and_can_only_be_shortened():
    for request, sampling in ((CHUNK, JOYVL.summary_sampling), (BLOCK, JOYVL.block_sampling)):
        assert summary_prompt(JOYVL, request)[1] == sampling
        assert summary_prompt(JOYVL, request, max_tokens=300)[1] == replace(
            sampling, max_tokens=300
        )
        assert summary_prompt(JOYVL, request, max_tokens=9_000)[1] == sampling


def test_the_task_is_named_first_and_tells_chunk_from_block():
    assert read(CHUNK)[0].startswith("Write a factual summary of one stretch")
    assert read(BLOCK)[0].startswith("Merge these summaries into one.")
