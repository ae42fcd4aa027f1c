from __future__ import annotations

import json

import pytest

from onlooker.errors import RecordingError
from onlooker.memory import DelegatedFact, GapFact, HeardFact, Memory
from onlooker.types import (
    BoundaryReason,
    InstructionId,
    Lifetime,
    LifetimeKind,
    Ms,
    ResponseId,
    Ticket,
    TickIndex,
)
from tests.memory.words import WORDLESS, WORDY, Talk, frame, make, say

pytestmark = pytest.mark.pure


def again(talk: Talk, *, with_frames: bool, later_ms: int = 0) -> Talk:
    """The session after a restart."""
    old = talk.memory
    data = old.snapshot(with_frames=with_frames)
    now = Ms(old._store.last_ms + later_ms)
    new = Talk(Memory.restore(data, old.config, old.text, now), ask=None)
    new.n = talk.n + -(-later_ms // 1_000)
    new.memory.integrity()
    return new


def busy() -> Talk:
    """Something of everything."""
    talk = Talk()
    talk.ticks(8)
    talk.summarise("first")
    talk.ticks(3)
    talk.ask("i1", "what is it", Lifetime(LifetimeKind.TIME, Ms(99_000)))
    talk.tick(say("a cat"), rid="r", spoken="a cat")
    talk.memory.settle(ResponseId("r"), 5, interrupted=False)
    talk.memory.add_delegated(DelegatedFact(Ticket("t"), "why", "so", talk.now, "aloud"))
    return talk


def test_with_frames_the_chunk_goes_on_byte_for_byte():
    talk = busy()
    new = again(talk, with_frames=True)
    assert (new.memory.head, new.memory.tail) == (talk.memory.head, talk.memory.tail)
    assert (new.memory.standing, new.memory.staged) == (talk.memory.standing, talk.memory.staged)
    assert new.tick() is None
    assert new.memory.head == talk.memory.head
    assert talk.memory.snapshot(with_frames=True) == again(talk, with_frames=True).memory.snapshot(
        with_frames=True
    )


def test_with_frames_a_running_summary_is_asked_for_again():
    talk = Talk()
    talk.ticks(8)
    (request,) = talk.memory.summary_requests(talk.now)
    new = again(talk, with_frames=True)
    (repeated,) = new.memory.summary_requests(new.now)
    assert repeated == request
    assert new.memory.on_summary(repeated.job_id, "s", new.now) == "staged"
    assert new.ticks(3)[0].fallback is False


def test_with_frames_a_summary_nobody_wants_is_forgotten():
    talk = Talk()
    talk.ticks(8)
    talk.memory.summary_requests(talk.now)
    talk.memory._store.jobs.discard(1)
    talk.memory._store.chunk.cut = None
    new = again(talk, with_frames=True)
    assert new.memory._store.jobs.jobs == {}


def test_with_frames_time_that_passed_is_stated_in_the_tail():
    talk = busy()
    new = again(talk, with_frames=True, later_ms=60_000)
    assert new.memory.staged[0] == GapFact(talk.now, Ms(talk.now + 60_000))


def test_with_frames_forced_and_gated_states_survive():
    talk = Talk(ask=None)
    for _ in range(9):
        talk.n += 1
        talk.memory.observe_gated([frame(talk.n)], talk.now, TickIndex(talk.n))
    talk.memory.force_boundary(BoundaryReason.PERSONA)
    new = again(talk, with_frames=True)
    assert new.memory.tail == talk.memory.tail
    boundary = new.tick()
    assert boundary is not None
    assert boundary.reason is BoundaryReason.PERSONA
    assert "nobody looked" in new.memory.head


def test_without_frames_a_restart_is_a_boundary_with_a_visible_fallback():
    talk = busy()
    new = again(talk, with_frames=False, later_ms=5_000)
    boundary = new.tick()
    assert boundary is not None
    assert (boundary.reason, boundary.fallback) == (BoundaryReason.RESTORED, True)
    assert boundary.carried_ticks == 0
    for text in ("first chunk-1-1", "<8.0-12.0>\nno summary of 4 pictures",
                 "<12.0-17.0> nobody looked", "a cat", "* watch", "* what is it"):  # fmt: skip
        assert text in new.memory.head
    assert new.memory.tail[-1].facts == talk.memory.staged
    assert new.tick() is None


def test_without_frames_a_staged_summary_is_kept():
    talk = Talk()
    talk.ticks(8)
    talk.summarise("kept")
    talk.tick()
    new = again(talk, with_frames=False)
    new.tick()
    assert "<0.0-8.0>\nkept chunk-1-1" in new.memory.head
    assert "<8.0-9.0>\nno summary of 1 pictures" in new.memory.head


def test_without_frames_a_fresh_session_has_nothing_to_fold():
    new = again(Talk(), with_frames=False)
    boundary = new.tick()
    assert boundary is not None
    assert (new.memory.head, boundary.fallback) == ("", False)


def test_without_frames_late_summaries_are_no_longer_awaited():
    talk = Talk()
    talk.ticks(8)
    (request,) = talk.memory.summary_requests(talk.now)
    talk.ticks(7)
    new = again(talk, with_frames=False)
    assert new.memory.on_summary(request.job_id, "late", new.now) == "stale"


@pytest.mark.parametrize("with_frames", [True, False])
def test_live_responses_are_settled_to_what_was_heard(with_frames):
    talk = Talk()
    talk.ticks(2)
    talk.tick(say("one two three"), rid="r", spoken="one two three")
    talk.memory.hear(ResponseId("r"), 7)
    new = again(talk, with_frames=with_frames)
    new.tick()
    shown = new.memory.head + "".join(tick.reply for tick in new.memory.tail)
    assert "one two [cut]" in shown
    assert "three" not in shown


@pytest.mark.parametrize("with_frames", [True, False])
def test_words_heard_after_the_boundary_survive_a_restart(with_frames):
    talk = Talk()
    talk.tick(say("one two three"), rid="r", spoken="one two three")
    talk.memory.hear(ResponseId("r"), 3)
    talk.ticks(7)
    talk.summarise()
    talk.ticks(3)
    talk.memory.hear(ResponseId("r"), 7)
    new = again(talk, with_frames=with_frames)
    assert [f.text for f in new.memory.staged if isinstance(f, HeardFact)] == ["two"]


@pytest.mark.parametrize("with_frames", [True, False])
def test_an_open_tick_counts_as_staged(with_frames):
    talk = Talk()
    talk.begin()
    new = again(talk, with_frames=with_frames)
    assert [fact.text for fact in new.memory.staged] == ["watch"]  # type: ignore[union-attr]
    new.begin(frames=0)
    assert len(new.memory.tail[-1].frames) == with_frames


def test_a_pending_cancellation_without_words_survives():
    talk = Talk(make(text=WORDLESS))
    talk.ticks(2)
    talk.memory.cancel(InstructionId("i0"), talk.now)
    new = again(talk, with_frames=False)
    new.ask("i1", "new")
    new.tick()
    assert "* watch" not in new.memory.head
    assert "watch" in new.memory.head


def test_a_snapshot_is_canonical_versioned_and_small():
    talk = Talk()
    for _ in range(250):
        talk.tick()
        talk.summarise("a sentence or two about what was to be seen")
    data = talk.memory.snapshot()
    assert data == talk.memory.snapshot()
    state = json.loads(data)
    assert (state["kind"], state["version"]) == ("onlooker.memory", 1)
    assert len(data) < 4_096
    assert b"f100" not in data


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"[]", b"{}", b'{"_":"Evil"}', b'{"kind":"onlooker.memory","version":1}',
     b'{"kind":"onlooker.memory","version":1,"spans":[{"_":"Span","nope":1}]}'],
)  # fmt: skip
def test_what_is_no_snapshot_is_refused(data):
    with pytest.raises(RecordingError, match="snapshot"):
        Memory.restore(data, make().config, WORDY, Ms(0))


def test_another_version_is_refused_by_name():
    data = busy().memory.snapshot().replace(b'"version":1', b'"version":9')
    with pytest.raises(RecordingError, match="version 9"):
        Memory.restore(data, make().config, WORDY, Ms(0))


def test_a_damaged_field_is_refused():
    state = json.loads(busy().memory.snapshot())
    state["lead"] = "x"
    with pytest.raises(RecordingError, match="incomplete"):
        Memory.restore(json.dumps(state).encode(), make().config, WORDY, Ms(0))
