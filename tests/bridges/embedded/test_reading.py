"""Prompts as the orchestrator writes them, read back: both dialects, head and tail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onlooker.bridges.model.embedded.dialect import Dialect, ReplyKind
from onlooker.bridges.model.embedded.orders import orders_of
from onlooker.bridges.model.embedded.reading import Message, Part, Reading, read_prompt, spoken
from onlooker.decision import (
    PERSONAS,
    Delegate,
    Respond,
    Silence,
    canonical,
    summary_prompt,
    system_prompt,
)
from onlooker.decision import Dialect as Spoken
from onlooker.memory.entries import (
    CancelFact,
    DelegatedFact,
    ExpiredFact,
    Fact,
    GapFact,
    HeardFact,
    Instruction,
    QueryFact,
    Span,
    SummaryRequest,
    TailTick,
)
from onlooker.memory.prefix import render_head
from onlooker.memory.qa import QaDelegated, QaQuery, QaReply
from onlooker.types import (
    FrameRef,
    FrameUuid,
    InstructionId,
    Lifetime,
    Ms,
    ResponseId,
    Ticket,
    TickIndex,
    VideoState,
)
from tests.bridges.embedded.stage import BOTH, GENERIC, JOYVL, built, understood

pytestmark = pytest.mark.pure

ID = InstructionId("i1")
each_dialect = pytest.mark.parametrize("dialect", BOTH, ids=lambda d: d.name)


def tick(
    number: int, *facts: Fact, frames: int = 1, video: VideoState = VideoState.FRESH
) -> TailTick:
    at = Ms(number * 1000)
    refs = tuple(FrameRef(FrameUuid(f"{number}.{n}"), at, 64, 64, 100) for n in range(frames))
    label = at if frames else None
    return TailTick(TickIndex(number), at, label, video, refs, facts)


def read(dialect: Spoken, *ticks: TailTick, head: str = "") -> Reading:
    """The reading of a prompt whose last tick is open; the others are silent unless they say."""
    silence = dialect.text.silence
    done = (replace(one, reply=one.reply or silence) for one in ticks[:-1])
    messages = built(dialect, *done, ticks[-1], head=head)
    return read_prompt(understood(messages), Dialect(dialect.text))


def query(text: str, at_s: int = 1, *, cut_off: bool = False) -> QueryFact:
    return QueryFact(ID, text, Ms(at_s * 1000), cut_off)


@each_dialect
def test_a_tick_is_read_with_its_query_time_and_pictures(dialect: Spoken) -> None:
    reading = read(dialect, tick(12, query("tell me when\na cat appears"), frames=3))
    (turn,) = reading.turns
    assert reading.system == "You watch."
    assert turn.queries == ["tell me when\na cat appears"]
    assert turn.at_ms == 12_000
    assert turn.times == [12_000] * 3
    assert [p.key for p in turn.pictures] == ["12.0", "12.1", "12.2"]


@each_dialect
def test_two_queries_in_one_tick_are_two(dialect: Spoken) -> None:
    reading = read(dialect, tick(1, query("is it dark?"), query("read the text")))
    assert reading.turns[0].queries == ["is it dark?", "read the text"]


@each_dialect
def test_a_query_whose_answer_was_cut_off_is_the_query_itself(dialect: Spoken) -> None:
    reading = read(dialect, tick(1, query("is it dark?", cut_off=True)))
    assert reading.turns[0].queries == ["is it dark?"]


@each_dialect
def test_late_facts_are_read(dialect: Spoken) -> None:
    facts: tuple[Fact, ...] = (
        CancelFact(ID, "watch the pot", Ms(1)),
        ExpiredFact(ID, "watch the cat", Ms(1)),
        DelegatedFact(Ticket("t"), "who is it?", "Ada.\nLovelace.", Ms(1), "being read aloud"),
        DelegatedFact(Ticket("u"), "what is it?", "no answer came", Ms(1), failed=True),
        HeardFact(ResponseId("r"), "a bicycle.", Ms(1)),
        GapFact(Ms(0), Ms(9_000)),
    )
    (turn,) = read(dialect, tick(5, *facts)).turns
    assert turn.ended == ["watch the pot", "watch the cat"]
    assert turn.said == ["who is it? Ada.\nLovelace.", "what is it? no answer came", "a bicycle."]
    assert turn.at_ms == 5_000
    assert turn.queries == []


@each_dialect
@pytest.mark.parametrize("video", ["no_video", "camera_off", "unchanged"])
def test_the_three_states_without_a_new_picture_are_told_apart(dialect: Spoken, video: str) -> None:
    one = tick(1, frames=0, video=VideoState(video))
    (turn,) = read(dialect, one).turns
    assert turn.notice == video
    assert turn.at_ms is None


@each_dialect
def test_own_replies_are_read_back(dialect: Spoken) -> None:
    words = Dialect(dialect.text)
    for action, kind, text, question in (
        (Silence(), ReplyKind.SILENCE, "", ""),
        (Respond("I see a bicycle."), ReplyKind.RESPOND, "I see a bicycle.", ""),
        (Delegate("One moment.", "who is it?"), ReplyKind.DELEGATE, "One moment.", "who is it?"),
        (Delegate("", "who is it?"), ReplyKind.DELEGATE, "", "who is it?"),
    ):
        reply = words.read_reply(canonical(action, dialect.text))
        assert (reply.kind, reply.text, reply.question) == (kind, text, question)
    assert words.read_reply("what is this").kind is ReplyKind.SILENCE
    assert words.read_reply("").kind is ReplyKind.SILENCE


def head_of(dialect: Spoken, *standing: str) -> str:
    seen = Span("chunk", Ms(0), Ms(9_000), "Seen: a room.", 9)
    return render_head(
        [seen, Span("gap", Ms(9_000), Ms(12_000), "", 0)],
        [
            QaQuery(1, ID, "is it dark?", Ms(1_000)),
            QaReply(ResponseId("r"), "No, it is not dark.", Ms(2_500)),
            QaReply(ResponseId("s"), "Let me ask.", Ms(3_000), "who is it?"),
            QaDelegated("who is it?", "Ada.", Ms(5_000), "read aloud"),
        ],
        [Instruction(ID, text, Lifetime(), Ms(4_000)) for text in standing],
        dialect.text,
    )  # fmt: skip


@each_dialect
def test_the_head_is_read_and_is_not_taken_for_a_fresh_query(dialect: Spoken) -> None:
    head = head_of(dialect, "tell me when a cat appears")
    reading = read(dialect, tick(13, query("is it bright?")), head=head)
    assert reading.head.standing == ["tell me when a cat appears"]
    assert [(said.text, said.at_ms) for said in reading.head.said] == [
        ("No, it is not dark.", 2_500),
        ("Let me ask. (who is it?)", 3_000),
        ("Ada. who is it?", None),
    ]
    assert "Seen: a room." in reading.head.history
    assert reading.turns[0].queries == ["is it bright?"]


def test_several_standing_requests_are_several_also_over_lines() -> None:
    reading = read(GENERIC, tick(13), head=head_of(GENERIC, "one\nof two", "three"))
    assert reading.head.standing == ["one\nof two", "three"]


@each_dialect
def test_what_stands_follows_asking_again_cancelling_and_the_limit(dialect: Spoken) -> None:
    head = head_of(dialect, "watch the pot")
    words = Dialect(dialect.text)
    ticks = [tick(13, query("Watch the cat", 13)), tick(14, query("watch the  CAT", 14))]
    orders = orders_of(read(dialect, *ticks, head=head), words)
    expected = [("watch the pot", -1), ("watch the  CAT", 1)]
    assert [(o.query, o.turn) for o in orders] == expected[-dialect.text.max_instructions :]
    assert orders[-1].asked_ms == 14_000
    ticks += [tick(15, CancelFact(ID, "watch the cat", Ms(1)))]
    left = [o.query for o in orders_of(read(dialect, *ticks, head=head), words)]
    assert left == ["watch the pot"]


def test_a_query_without_a_label_takes_the_time_of_its_neighbour() -> None:
    first = tick(3, query("is it dark?"), frames=0, video=VideoState.NO_VIDEO)
    reading = read(GENERIC, first, tick(4))
    assert orders_of(reading, Dialect(GENERIC.text))[0].asked_ms == 4_000


def test_a_line_of_a_query_that_looks_like_a_label_does_not_bend_time() -> None:
    reading = read(GENERIC, tick(4, query("hello\n[Time 99.0 s]\nthere")))
    assert reading.turns[0].at_ms == 4_000


@each_dialect
def test_words_heard_in_a_tick_are_its_facts_and_its_reply(dialect: Spoken) -> None:
    reply = canonical(Delegate("One moment.", "who is it?"), dialect.text)
    turn, _ = read(dialect, replace(tick(1), reply=reply), tick(2)).turns
    assert spoken(turn) == ["One moment.", "who is it?"]


@pytest.mark.parametrize(
    ("system", "last", "kind"),
    [("Write a factual summary of it.", "pictures", "chunk"),
     ("x", "Write a factual summary.", "chunk"),
     ("x", "Merge these summaries: …", "block"), ("x", "Please write a factual summary", None)],
)  # fmt: skip
def test_a_summary_is_recognised_by_how_its_request_opens(
    system: str, last: str, kind: str | None
) -> None:
    messages = [Message("system", (Part(text=system),)), Message("user", (Part(text=last),))]
    assert read_prompt(messages, Dialect(GENERIC.text)).summary == kind


def test_a_user_who_once_said_the_same_words_does_not_turn_ticks_into_summaries() -> None:
    fact = query("Write a factual summary")
    reading = read(JOYVL, tick(1, fact), tick(2))
    assert reading.summary is None


@each_dialect
def test_the_personas_say_whether_delegation_is_offered(dialect: Spoken) -> None:
    words = Dialect(dialect.text)
    offered = [words.teaches_delegation(system_prompt(dialect, name)) for name in PERSONAS]
    assert PERSONAS == ("default", "silent", "talkative")
    assert offered == [True, False, True]
    assert words.teaches_delegation("")


@each_dialect
@pytest.mark.parametrize("persona", PERSONAS)
def test_a_tick_under_any_persona_is_no_request_for_a_summary(
    dialect: Spoken, persona: str
) -> None:
    messages = built(dialect, tick(1), system=system_prompt(dialect, persona))
    assert read_prompt(understood(messages), Dialect(dialect.text)).summary is None


@each_dialect
@pytest.mark.parametrize("kind", ["chunk", "block"])
def test_the_requests_for_summaries_are_recognised(dialect: Spoken, kind: str) -> None:
    is_chunk = kind == "chunk"
    request = SummaryRequest(
        "j", kind, 1, Ms(0), Ms(2_000),
        ticks=(replace(tick(1), reply=dialect.text.silence),) if is_chunk else (),
        texts=() if is_chunk else ((Ms(0), Ms(1_000), "Seen: a room."),),
    )  # fmt: skip
    messages, _ = summary_prompt(dialect, request)
    assert read_prompt(understood(messages), Dialect(dialect.text)).summary == kind
