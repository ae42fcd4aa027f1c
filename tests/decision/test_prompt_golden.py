"""Whole prompts as readable text; read them when they change."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from onlooker.decision import (
    DIALECTS,
    PERSONAS,
    Delegate,
    PromptBuilder,
    Respond,
    Silence,
    canonical,
    summary_prompt,
    system_prompt,
)
from onlooker.memory.entries import (
    CancelFact,
    DelegatedFact,
    HeardFact,
    Instruction,
    Span,
    SummaryRequest,
)
from onlooker.memory.prefix import render_head
from onlooker.memory.qa import QaQuery, QaReply
from onlooker.types import (
    InstructionId,
    Lifetime,
    Ms,
    ResponseId,
    Ticket,
    VideoState,
    canonical_bytes,
)
from tests.decision.scenes import Scene, query, tick

pytestmark = pytest.mark.pure

both = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
ONE = InstructionId("q1")


def readable(body: bytes) -> str:
    """Messages one below the other, parts under their message."""
    lines: list[str] = []
    for message in json.loads(body):
        content = message["content"]
        parts = [{"text": content}] if isinstance(content, str) else content
        lines.append(f"=== {message['role']}")
        lines += [f"--- {one.get('uuid', '')[-4:]}{one.get('text', '')}|" for one in parts]
    return "\n".join(lines)


def scene(dialect) -> Scene:
    text = dialect.text
    head = render_head(
        [
            Span("block", Ms(0), Ms(500_000), "A man painted the fence.", 500),
            Span("gap", Ms(500_000), Ms(560_000), "", 0),
            Span("chunk", Ms(560_000), Ms(660_000), "He left. The gate stands open.", 100),
        ],
        [
            QaQuery(1, ONE, "Who is there?", Ms(3_000)),
            QaReply(ResponseId("r1"), "A man with a brush.", Ms(4_000)),
        ],
        [Instruction(ONE, "Tell me when the cat comes.", Lifetime(), Ms(5_000))],
        text,
    )
    answer = DelegatedFact(Ticket("d1"), "What does it eat?", "Mice.", Ms(0), "being read aloud")
    return Scene(head, [
        tick(661, query("What is it?"), reply=canonical(Respond("A tabby —"), text)),
        tick(662, query("What is it?", cut_off=True), frames=2,
             reply=canonical(Delegate("One moment.", "What does it eat?"), text)),
        tick(663, answer, HeardFact(ResponseId("r3"), "One moment.", Ms(0)),
             reply=canonical(Silence(), text)),
        tick(664, CancelFact(ONE, "Tell me when the cat comes.", Ms(0)), frames=0,
             video=VideoState.CAMERA_OFF),
    ])  # fmt: skip


@both
def test_golden_messages(dialect, golden):
    built = PromptBuilder(dialect, "(system prompt)").build(scene(dialect))
    golden.check(f"decision/messages-{dialect.name}.txt", readable(built.canonical()))


@both
@pytest.mark.parametrize("persona", PERSONAS)
def test_golden_personas(dialect, persona, golden):
    golden.check(f"decision/persona-{dialect.name}-{persona}.txt", system_prompt(dialect, persona))


@both
def test_golden_summaries(dialect, golden):
    stands = (Instruction(ONE, "Tell me when the cat comes.", Lifetime(), Ms(5_000)),)
    ticks = tuple(scene(dialect).tail[:3])
    chunk = SummaryRequest("s1", "chunk", 1, Ms(660_000), Ms(663_000), ticks, (), stands)
    texts = ((Ms(0), Ms(99_000), "A cat came."), (Ms(99_000), Ms(200_000), "It left."))
    block = replace(chunk, kind="block", ticks=(), texts=texts, start_ms=Ms(0), end_ms=Ms(200_000))
    for request in (chunk, block):
        messages, _ = summary_prompt(dialect, request, "de")
        name = f"decision/summary-{dialect.name}-{request.kind}.txt"
        golden.check(name, readable(canonical_bytes(messages)))
