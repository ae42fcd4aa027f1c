"""A random session and a word-level oracle of what its prompts must show.

Every query, answer, reply and picture carries words of its own, so that whatever a prompt shows can
be counted. The oracle keeps its own record of what was asked, committed, answered and heard; it
renders prompts in its own simple canonical form from ``head`` and ``tail`` and never looks inside.

Checked at every prompt: S1 (byte prefix, interruptions excepted), S2 (the head changes at
boundaries only; the tail is the newest ticks, unchanged, in order; the head's standing section is
the fold of what came before), S6 (each query, answer and picture in one place), heard words (all of
them once, unheard ones never), bounds.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from onlooker.memory import (
    CancelFact,
    DelegatedFact,
    ExpiredFact,
    GapFact,
    HeardFact,
    Memory,
    QueryFact,
    TailTick,
)
from onlooker.types import (
    BoundaryReason,
    InstructionId,
    Lifetime,
    LifetimeKind,
    Ms,
    ResponseId,
    Ticket,
    TickIndex,
    VideoState,
)
from tests.memory.words import WORDY, frame

OPS = (
    "ask", "ask", "again", "cancel", "expire", "delegated", "hear", "hear", "hear", "settle",
    "freeze", "summary", "summary", "fail", "persona", "answered", "cut_off", "requests",
)  # fmt: skip
ENDS = ("silence", "silence", "silence", "say", "say", "delegate", "fail", "fail")


class Violation(AssertionError):
    """The prompt does not show what it must."""


@dataclass
class Said:
    """One response, as the oracle knows it."""

    rid: str
    words: list[str]
    heard: int = 0  # words
    is_settled: bool = False
    is_final: bool = False
    shortened: bool = False
    is_read_out: bool = False

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def chars(self, words: int) -> int:
        return len(" ".join(self.words[:words]))


@dataclass
class Done:
    """A committed tick."""

    frames: tuple[str, ...]
    facts: tuple[object, ...]
    ends: list[tuple[str, int]] = field(default_factory=list)
    rid: str | None = None


@dataclass
class Session:
    """Drives one memory at random and checks each prompt."""

    memory: Memory
    random: Random
    strict_bounds: bool = True

    def __post_init__(self) -> None:
        self.now = 0
        self.count = 0
        self.done: list[Done] = []
        self.asked: list[tuple[str, int, str]] = []  # id, at, text
        self.answers: list[str] = []
        self.said: dict[str, Said] = {}
        self.running: list[str] = []
        self.ranges: dict[str, tuple[int, int, int]] = {}
        self.written: dict[str, tuple[int, int, int]] = {}  # summary -> what it was written from
        self.ends: list[tuple[str, int]] = []  # marks for the next tick
        self.gone: list[tuple[str, int]] = []  # dropped without words (id, how many ticks then)
        self.hidden: list[str] = []  # cancelled unseen, archived for the next boundary
        self.previous: list[str] | None = None
        self.previous_head = ""
        self.rewritten: int | None = None
        self.is_closed = True
        self.boundaries = 0
        self.reasons: set[str] = set()

    # -- what happens

    def word(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}z"

    def play(self, ops: list[str], ends: list[str]) -> None:
        """One stretch: some events, then one tick."""
        for op in ops:
            getattr(self, f"do_{op}")()
        self.now += self.random.choice((0, 700, 1000, 1000, 1500))
        if self.memory.is_gated:
            self._observe_gated()
            return
        for end in ends:
            if self._tick(end):
                return
            for op in ops[:1]:
                getattr(self, f"do_{op}")()

    def _observe_gated(self) -> None:
        frames = [self._frame() for _ in range(self.random.choice((0, 1, 1, 2)))]
        self.memory.observe_gated(frames, Ms(self.now))
        if frames:
            kept = frames[-self.memory.config.ring_frames :]
            self.done.append(Done(tuple(one.uuid for one in kept), ()))
        self.memory.integrity()

    def _frame(self):
        self.count += 1
        return frame(self.count, self.now)

    def _tick(self, end: str) -> bool:
        frames = [self._frame() for _ in range(self.random.choice((0, 1, 1, 1, 2)))]
        staged = self.memory.staged
        video = VideoState.FRESH if frames else VideoState.NO_VIDEO
        tick, boundary = self.memory.begin_tick(TickIndex(self.count), Ms(self.now), frames, video)
        if boundary is not None:
            self.boundaries += 1
            self.reasons.add(boundary.reason.value)
            self.hidden.clear()
            for said in self.said.values():
                said.shortened = False
        self._check_staged(staged, tick)
        self.check_prompt(boundary is not None)
        if end == "fail":
            self.memory.rollback_tick()
            self.is_closed = False
            self._check_given_back(tick)
            return False
        self._commit(end, tick)
        return True

    def _commit(self, end: str, tick: TailTick) -> None:
        done = Done(tuple(one.uuid for one in tick.frames), tick.facts, self.ends)
        self.ends = []
        if end == "silence" or self._is_busy():
            self.memory.commit_tick(WORDY.silence)
        else:
            said = Said(self.word("R"), [self.word("w") for _ in range(self.random.randint(1, 6))])
            self.said[said.rid] = said
            done.rid = said.rid
            question = self.word("dq") if end == "delegate" else ""
            form = WORDY.delegate if question else WORDY.respond
            reply = form.format(text=said.text, note=said.text, question=question)
            self.memory.commit_tick(reply, ResponseId(said.rid), said.text, question)
        self.done.append(done)
        self.is_closed = True
        self.memory.integrity()

    def do_ask(self) -> None:
        kind = self.random.choice(list(LifetimeKind))
        until = Ms(self.now + 4000) if kind is LifetimeKind.TIME else None
        names = [self.word("i"), "i1z", "i2z"]
        self._ask(self.random.choice(names), self.word("Q"), Lifetime(kind, until))

    def do_again(self) -> None:
        if self.asked:
            self._ask(self.word("i"), self.random.choice(self.asked)[2], Lifetime())

    def _ask(self, name: str, text: str, lifetime: Lifetime) -> None:
        self.now += 1  # one asking per millisecond: an asking is named by id and time
        before = {one.instruction_id: one for one in self.memory.standing}
        changes = self.memory.arm(InstructionId(name), text, lifetime, Ms(self.now))
        for changed, status in changes:
            if status == "replaced" and self.memory.text.cancel_is_boundary:
                self.ends.append((changed, before[changed].at_ms))
        self.asked.append((changes[-1][0], self.now, text))

    def do_cancel(self) -> None:
        if self.memory.standing:
            one = self.random.choice(self.memory.standing)
            before = self.memory.staged
            self.memory.cancel(one.instruction_id, Ms(self.now))
            self._dropped(one.instruction_id, before)

    def do_expire(self) -> None:
        before = self.memory.staged
        for one in self.memory.expire(Ms(self.now)):
            self._dropped(one.instruction_id, before)

    def _dropped(self, name: str, before: tuple[object, ...]) -> None:
        if self.memory.text.cancel_is_boundary:
            self.gone.append((name, self.now))
            self.hidden += [
                fact.text
                for fact in before
                if isinstance(fact, QueryFact) and fact.instruction_id == name and not fact.cut_off
            ]

    def do_delegated(self) -> None:
        word = self.word("A")
        self.answers.append(word)
        fact = DelegatedFact(Ticket(word), self.word("q"), word, Ms(self.now), "read aloud")
        rid = None
        if self.random.random() < 0.5 and not self._is_busy():
            rid = self.word("R")
            words = [word, *(self.word("w") for _ in range(3))]
            fact = DelegatedFact(Ticket(word), "what", " ".join(words), Ms(self.now), "read aloud")
            self.said[rid] = Said(rid, words, is_read_out=True)
        self.memory.add_delegated(fact, None if rid is None else ResponseId(rid))

    def _is_busy(self) -> bool:
        """More responses at once than any session has."""
        return sum(not said.is_final for said in self.said.values()) >= 5

    def _pick(self, *, settled: bool | None = None) -> Said | None:
        some = [
            s for s in self.said.values()
            if not s.is_final and (settled is None or s.is_settled is settled)
        ]  # fmt: skip
        return self.random.choice(some) if some else None

    def do_hear(self) -> None:
        said = self._pick(settled=False)
        if said is not None:
            said.heard = max(said.heard, self.random.randint(0, len(said.words)))
            self.memory.hear(ResponseId(said.rid), said.chars(said.heard))

    def do_settle(self) -> None:
        said = self._pick()
        if said is None:
            return
        before = said.heard
        interrupted = self.random.random() < 0.7
        said.heard = self.random.randint(0, len(said.words)) if interrupted else len(said.words)
        said.shortened |= said.heard < before
        said.is_settled = True
        said.is_final = not interrupted
        self._will_rewrite(said)
        self.memory.settle(ResponseId(said.rid), said.chars(said.heard), interrupted=interrupted)

    def do_freeze(self) -> None:
        said = self._pick()
        if said is not None:
            self._will_rewrite(said)
            said.is_settled = said.is_final = True
            self.memory.freeze(ResponseId(said.rid))

    def _will_rewrite(self, said: Said) -> None:
        for place, tick in enumerate(self.memory.tail):
            if tick.response_id == said.rid:
                self.rewritten = place if self.rewritten is None else min(place, self.rewritten)

    def do_requests(self) -> None:
        for request in self.memory.summary_requests(Ms(self.now)):
            self.running.append(request.job_id)
            self.ranges[request.job_id] = (request.start_ms, request.end_ms, request.frames)

    def do_summary(self) -> None:
        self.do_requests()
        if self.running:
            job = self.running.pop(self.random.randrange(len(self.running)))
            if self.memory.on_summary(job, self.word("S"), Ms(self.now)) != "stale":
                self.written[f"S{self.count}z"] = self.ranges[job]
            self.memory.on_summary(job, self.word("S"), Ms(self.now))

    def do_fail(self) -> None:
        self.do_requests()
        if self.running:
            job = self.running.pop(self.random.randrange(len(self.running)))
            self.memory.on_summary_failed(job, Ms(self.now))

    def do_persona(self) -> None:
        if self.random.random() < 0.3:
            self.memory.force_boundary(BoundaryReason.PERSONA)

    def do_answered(self) -> None:
        if not self.said:
            return
        rid = self.random.choice(list(self.said))
        in_tail = {t.response_id for t in self.memory.tail}
        for one in self.memory.answered(ResponseId(rid), Ms(self.now)):
            mark = (one.instruction_id, one.at_ms)
            if rid in in_tail:
                next(d for d in self.done if d.rid == rid).ends.append(mark)
            else:
                self.ends.append(mark)

    def do_cut_off(self) -> None:
        if self.random.random() < 0.3 and self.is_closed:
            self.memory.rearm_cut_off(Ms(self.now))

    def do_squeeze(self) -> None:
        self.memory.shrink_to(max_images=self.random.choice((5, 8, 12)))
        self.memory.force_boundary(BoundaryReason.FORCED)

    def do_restart(self) -> None:
        """The process was restarted: responses that were live are final."""
        if self.random.random() > 0.2 or not self.is_closed:
            return
        with_frames = self.random.random() < 0.5
        data = self.memory.snapshot(with_frames=with_frames)
        old = self.memory
        self.memory = type(old).restore(data, old.config, old.text, Ms(self.now))
        for said in self.said.values():
            if not said.is_final:
                said.is_settled = said.is_final = True
                # A restored head is frozen as it was: words taken back since stay until the next.
                said.shortened &= with_frames
        self.running.clear()
        self.rewritten = 0
        self.memory.integrity()

    # -- what a prompt must show

    def messages(self) -> list[str]:
        """The canonical message list of the open tick, in the oracle's own form."""
        out = ["system"]
        for place, tick in enumerate(self.memory.tail):
            parts = [self.memory.head] if place == 0 and self.memory.head else []
            parts += [show_fact(fact) for fact in tick.facts]
            parts += [str(tick.label_ms), tick.video.value, *(one.uuid for one in tick.frames)]
            out.append(json.dumps({"role": "user", "content": parts}))
            if tick.reply:
                out.append(json.dumps({"role": "assistant", "content": tick.reply}))
        return out

    def check_prompt(self, crossed: bool) -> None:
        messages = self.messages()
        self._check_prefix(messages, crossed)
        self._check_tail()
        self._check_standing()
        counts = Counter(_words("\n".join(messages)))
        self._check_facts(counts)
        self._check_words(counts)
        self._check_ranges()
        self._check_bounds()
        self.previous, self.previous_head, self.rewritten = messages, self.memory.head, None

    def _claim(self, holds: bool, what: str) -> None:
        if not holds:
            raise Violation(what)

    def _check_prefix(self, messages: list[str], crossed: bool) -> None:
        if crossed or self.previous is None:
            return
        self._claim(self.memory.head == self.previous_head, "S2: the head changed in a chunk")
        keep = len(self.previous) if self.is_closed else len(self.previous) - 1
        if self.rewritten is not None:
            keep = min(keep, 2 + 2 * self.rewritten)
        self._claim(messages[:keep] == self.previous[:keep], "S1: not a prefix")

    def _check_tail(self) -> None:
        tail = self.memory.tail[:-1]
        newest = self.done[len(self.done) - len(tail) :] if tail else []
        for tick, done in zip(tail, newest, strict=True):
            self._claim(tuple(f.uuid for f in tick.frames) == done.frames, "S2: pictures differ")
            shown = [f for f in done.facts if f in tick.facts or not self._is_withdrawn(f)]
            self._claim(list(tick.facts) == shown, "S2: a tick's facts changed")

    def _is_withdrawn(self, fact: object) -> bool:
        return isinstance(fact, QueryFact) and any(
            name == fact.instruction_id and fact.at_ms <= at for name, at in self.gone
        )

    def _folded(self) -> list[Done]:
        return self.done[: len(self.done) - len(self.memory.tail) + 1]

    def _check_standing(self) -> None:
        standing: dict[str, tuple[int, str]] = {}
        gone = dict(self.gone)
        for done in self._folded():
            for fact in done.facts:
                if isinstance(fact, QueryFact) and not fact.cut_off:
                    standing[fact.instruction_id] = (fact.at_ms, fact.text)
                elif isinstance(fact, CancelFact | ExpiredFact):
                    standing.pop(fact.instruction_id, None)
            for name, at in done.ends:
                if name in standing and standing[name][0] <= at:
                    del standing[name]
        expected = sorted(
            text for name, (at, text) in standing.items() if at > gone.get(name, -1)
        )  # fmt: skip
        _, _, section = self.memory.head.partition(f"{WORDY.standing_header}\n")
        shown = sorted(line.removeprefix("* ") for line in section.splitlines())
        self._claim(shown == expected, f"S2: standing {shown} is not {expected}")

    def _check_ranges(self) -> None:
        """A summary stands for exactly what it was written from."""
        for span in self.memory.view()["mid_term"]:  # type: ignore[attr-defined]
            if span["text"] in self.written:
                held = (span["start_ms"], span["end_ms"], span["frames"])
                self._claim(held == self.written[span["text"]], "S6: a summary hides a range")

    def _check_facts(self, counts: Counter[str]) -> None:
        staged = [f for f in self.memory.staged if isinstance(f, QueryFact) and not f.cut_off]
        wanted_of = Counter(text for _, _, text in self.asked)
        wanted_of.subtract(fact.text for fact in staged)
        wanted_of.subtract(self.hidden)
        for query, wanted in wanted_of.items():
            seen = counts[query]
            self._claim(seen == wanted, f"S6: {query} is shown {seen} times, not {wanted}")
        waiting = " ".join(f.text for f in self.memory.staged if isinstance(f, DelegatedFact))
        for answer in self.answers:
            read_out = sum(s.words[0] == answer and s.is_final for s in self.said.values()
                           if s.is_read_out)  # fmt: skip
            seen = counts[answer]
            wanted = answer not in waiting.split()
            self._claim(wanted <= seen <= wanted + read_out, f"S6: {answer} is shown {seen} times")
        for done in self.done[len(self.done) - len(self.memory.tail) + 1 :]:
            for uuid in done.frames:
                self._claim(counts[uuid] == 1, "S6: a picture is not shown once")

    def _check_words(self, counts: Counter[str]) -> None:
        for fact in self.memory.staged:
            if isinstance(fact, HeardFact):
                counts.update(_words(fact.text))
        tail = {tick.response_id for tick in self.memory.tail}
        for said in self.said.values():
            if not said.is_read_out:
                self._check_said(said, counts, said.rid in tail)

    def _check_said(self, said: Said, counts: Counter[str], in_tail: bool) -> None:
        for place, word in enumerate(said.words):
            seen = counts[word]
            heard = place < said.heard
            if in_tail and not said.is_settled:
                self._claim(seen == 1, f"H: provisional {word} is shown {seen} times")
            elif said.shortened and not in_tail:
                self._claim(seen <= 1, f"H: {word} is shown {seen} times")
            elif not said.is_final and not in_tail:
                self._claim(seen <= heard, f"H: unheard {word} is shown")
            else:
                self._claim(seen == heard, f"H: {word} heard {heard} but shown {seen} times")

    def _check_staged(self, staged: tuple[object, ...], tick: TailTick) -> None:
        shown = [f for f in staged if f in tick.facts]
        self._claim(list(tick.facts) == shown, "a fact came from nowhere or out of order")
        withdrawn = [f for f in staged if self._is_withdrawn(f)]
        late = [f for f in staged if f not in tick.facts and f not in withdrawn]
        self._claim(not late, "a staged fact is not in the very next tick")

    def _check_given_back(self, tick: TailTick) -> None:
        back = self.memory.staged[: len(tick.facts)]
        self._claim(back == tick.facts, "a rolled-back fact is lost")

    def _check_bounds(self) -> None:
        config = self.memory.config
        shown = sum(len(tick.frames) for tick in self.memory.tail)
        self._claim(shown <= config.hard_cap_frames, f"{shown} pictures exceed the hard cap")
        gauge = self.memory.gauge()
        self._claim(gauge.mids < 2 * config.rollup_every + 1, "summaries grow")
        self._claim(gauge.prompt_tokens <= gauge.budget_tokens, "the prompt exceeds its budget")


def show_fact(fact: object) -> str:
    """A fact in the oracle's canonical form; texts that repeat another fact are left out."""
    match fact:
        case QueryFact(cut_off=False):
            return f"asked {fact.text}"
        case QueryFact() | CancelFact() | ExpiredFact():
            return f"{type(fact).__name__} {fact.instruction_id}"
        case DelegatedFact():
            return f"answer {fact.text} ({fact.delivery})"
        case HeardFact():
            return f"heard {fact.text}"
        case GapFact():
            return f"gap {fact.start_ms} {fact.end_ms}"
    raise AssertionError(f"unknown fact {fact}")


def _words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z]+\d+z?", text.replace("\\n", " "))


def run(memory: Memory, seed: int, steps: int = 90, extra: tuple[str, ...] = ()) -> Session:
    """Plays a whole random session."""
    random = Random(seed)
    session = Session(memory, random)
    for _ in range(steps):
        ops = [random.choice(OPS + extra) for _ in range(random.choice((0, 0, 1, 2, 3)))]
        ends = [random.choice(ENDS) for _ in range(3)]
        session.play(ops, ends)
    return session
