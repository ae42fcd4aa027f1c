"""S1 to S4 under random events: on bare tails, and on a real memory."""

from __future__ import annotations

import re
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker.decision import (
    GENERIC,
    JOYVL,
    PERSONAS,
    PromptBuilder,
    Respond,
    Silence,
    canonical,
    system_prompt,
)
from onlooker.memory import Memory, MemorySettings, resolve
from onlooker.types import (
    BoundaryReason,
    InstructionId,
    Lifetime,
    Ms,
    ResponseId,
    ServerLimits,
    TickIndex,
    VideoState,
)
from tests.decision.scenes import Scene, facts, frame, from_scratch, texts, tick

pytestmark = pytest.mark.pure

dialects = st.sampled_from([JOYVL, GENERIC])
SYSTEM = "You watch."


@settings(max_examples=50)
@given(st.data(), dialects)
def test_s1_s4_every_build_extends_the_one_before_and_equals_a_fresh_serialisation(data, dialect):
    scene, builder = Scene(), PromptBuilder(dialect, SYSTEM)
    system, before = SYSTEM, b""
    for number in range(data.draw(st.integers(1, 12), "ticks")):
        event = data.draw(st.sampled_from(["", "", "", "cross", "rewrite", "system"]), "event")
        kept_from = len(before)
        if event == "cross":
            scene.cross(data.draw(texts), data.draw(st.integers(0, len(scene.tail))))
        elif event == "rewrite" and scene.tail:
            place = data.draw(st.integers(0, len(scene.tail) - 1))
            kept_from = len(
                from_scratch(Scene(scene.head, scene.tail[: place + 1]), dialect, system)
            )
            kept_from -= len(scene.tail[place].reply.encode()) + len('"}]') + 40
            scene.rewrite(place, canonical(Silence(), dialect.text))
        elif event == "system":
            system = data.draw(texts)
            builder.set_system(system)
        shown = data.draw(st.lists(facts, max_size=2))
        scene.open(tick(number, *shown, frames=data.draw(st.integers(0, 4))))
        built = builder.build(scene)
        now = built.canonical()
        assert now == from_scratch(scene, dialect, system)
        if event not in ("cross", "system"):
            assert now.startswith(before[: max(0, kept_from)])
            assert built.new_bytes <= len(now) - min(kept_from, len(before)) + 200
        before = now[:-1]
        scene.commit(data.draw(st.sampled_from([dialect.text.silence, "[RESPOND] ü"])))


@given(dialects, st.sampled_from(PERSONAS), st.sampled_from(["en", "de", "xx"]))
def test_s3_the_system_prompt_is_constant_and_holds_no_clock_or_id(dialect, persona, code):
    prompt = system_prompt(dialect, persona, code)
    assert prompt == system_prompt(dialect, persona, code)
    assert not re.search(r"\d{2}:\d{2}|\d{4}-\d{2}|\d+\.\d|[0-9a-f]{8}", prompt)


class Life:
    """A real memory under random events, with what the builder must keep to."""

    def __init__(self, dialect) -> None:
        self.dialect = dialect
        config = resolve(
            MemorySettings(chunk_frames=8, lead=2, fixed_lead=True),
            ServerLimits(max_model_len=32_768, max_images=64),
            dialect.text,
            default_frames=dialect.default_frames,
            max_reply_tokens=256,
        )
        self.memory = Memory(config, dialect.text)
        self.builder = PromptBuilder(dialect, SYSTEM)
        self.now = 0
        self.ids = count()
        self.live: ResponseId | None = None
        self.rewritten = False
        self.before = b""
        """What is committed."""
        self.sent = b""
        """What was committed when the last prompt was built."""
        self.chunk = self.memory.chunk

    def ask(self) -> None:
        one = InstructionId(f"user-4711-{next(self.ids)}")
        self.memory.arm(one, f"Tell me about {one[-1]}.", Lifetime(), Ms(self.now))

    def interrupt(self, heard: int) -> None:
        if self.live is not None:
            self.memory.settle(self.live, heard, interrupted=True)
            self.memory.freeze(self.live)
            self.live, self.rewritten = None, True

    def summarise(self) -> None:
        for request in self.memory.summary_requests(Ms(self.now)):
            self.memory.on_summary(request.job_id, "A cat sat there.", Ms(self.now))

    def tick(self, action, *, fails: bool) -> None:
        self.now += 1_000
        number = TickIndex(next(self.ids))
        self.memory.begin_tick(number, Ms(self.now), [frame(number, self.now)], VideoState.FRESH)
        self.check()
        if fails:
            self.memory.rollback_tick()
        else:
            self.commit(action, number)
        scene = Scene(self.memory.head, list(self.memory.tail))
        self.before = from_scratch(scene, self.dialect, SYSTEM)[:-1]

    def commit(self, action, number: int) -> None:
        text = canonical(action, self.dialect.text)
        if isinstance(action, Respond) and self.live is None:
            self.live = ResponseId(f"r{number}")
            self.memory.commit_tick(text, self.live, spoken=action.text)
        else:
            self.memory.commit_tick(canonical(Silence(), self.dialect.text))

    def check(self) -> None:
        built = self.builder.build(self.memory)
        now = built.canonical()
        scene = Scene(self.memory.head, list(self.memory.tail), self.memory.chunk)
        assert now == from_scratch(scene, self.dialect, SYSTEM)
        if self.memory.chunk == self.chunk and not self.rewritten:
            assert now.startswith(self.before)
            assert built.new_bytes <= len(now) - len(self.sent)
        committed = Scene(scene.head, scene.tail[:-1])
        self.sent = from_scratch(committed, self.dialect, SYSTEM)[:-1]
        self.chunk, self.rewritten = self.memory.chunk, False
        assert "user-4711" not in self.memory.head


@settings(max_examples=60)
@given(st.data(), dialects)
def test_s1_s3_s4_on_a_real_memory_under_random_events(data, dialect):
    life = Life(dialect)
    life.ask()
    for _ in range(data.draw(st.integers(1, 30))):
        match data.draw(st.sampled_from(["ask", "interrupt", "summarise", "persona", "", "", ""])):
            case "ask":
                life.ask()
            case "interrupt":
                life.interrupt(data.draw(st.integers(0, 12)))
            case "summarise":
                life.summarise()
            case "persona":
                life.memory.force_boundary(BoundaryReason.PERSONA)
        action = data.draw(st.sampled_from([Silence(), Silence(), Respond("There is a cat.")]))
        life.tick(action, fails=data.draw(st.integers(0, 9)) == 0)


@settings(max_examples=20)
@given(st.data())
def test_s4_new_bytes_do_not_grow_with_the_chunk(data):
    scene, builder = Scene(head="x" * 5_000), PromptBuilder(JOYVL, "y" * 3_000)
    for number in range(data.draw(st.integers(2, 60))):
        scene.open(tick(number))
        built = builder.build(scene)
        assert built.new_bytes < 320 or number == 0
        scene.commit("</silence>")
