"""What was heard, under any order of reports, hostile ones included."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import Phase as Stage
from hypothesis import find, given, settings
from hypothesis import strategies as st

from onlooker.orchestrator.clauses import ClauseSegmenter
from onlooker.orchestrator.playback import PlaybackCursor, SpokenText, word_ends

pytestmark = pytest.mark.pure

FINDING = settings(max_examples=2_000, database=None, phases=[Stage.generate])

MS = st.one_of(st.integers(-(10**12), 10**12), st.integers(-10, 4_000))
REPORTS = st.lists(
    st.tuples(st.sampled_from(["generate", "send", "play", "truncate", "commit"]), MS), max_size=40
)
TEXTS = st.one_of(
    st.lists(
        st.sampled_from(["a", "cat", "sat.", "on,", "你好。", "世界", "3.5", "\n"]), max_size=25
    ).map(" ".join),
    st.text(max_size=80),
)


def check_cursor(cursor: PlaybackCursor, reports: list[tuple[str, int]]) -> None:
    marks = (0, 0, 0, 0)
    for what, to_ms in reports:
        getattr(cursor, what)(to_ms)
        now = (cursor.committed_ms, cursor.played_ms, cursor.sent_ms, cursor.generated_ms)
        assert now == tuple(sorted(now)), "committed <= played <= sent <= generated"
        assert all(after >= before for before, after in zip(marks, now, strict=True))
        assert cursor.committed_ms <= cursor.heard_ms <= cursor.played_ms
        marks = now


@given(REPORTS)
def test_the_watermarks_keep_their_order_and_only_rise(reports: list[tuple[str, int]]) -> None:
    check_cursor(PlaybackCursor(), reports)


class TrustsTheClient(PlaybackCursor):
    """Wrong: an ack is not clamped to what was sent."""

    def play(self, to_ms: int) -> None:
        self._acked = self._played = max(self._played, to_ms)


class FollowsTheLastAck(PlaybackCursor):
    """Wrong: a late ack takes the watermark back."""

    def play(self, to_ms: int) -> None:
        self._acked = self._played = max(0, min(to_ms, self._sent))


@pytest.mark.parametrize("wrong", [TrustsTheClient, FollowsTheLastAck])
def test_the_checks_catch_a_cursor_that_is_wrong_on_purpose(wrong: type[PlaybackCursor]) -> None:
    def is_caught(reports: list[tuple[str, int]]) -> bool:
        try:
            check_cursor(wrong(), reports)
        except AssertionError:
            return True
        return False

    assert find(REPORTS, is_caught, settings=FINDING)


@dataclass(frozen=True)
class Said:
    """A whole response with its sound."""

    spoken: SpokenText
    total_ms: int


@st.composite
def said(draw: st.DrawFn, *, timings: bool) -> Said:
    text = draw(TEXTS)
    segmenter = ClauseSegmenter()
    spoken = SpokenText()
    total = 0
    for clause in (*segmenter.feed(text), *segmenter.finish()):
        index = spoken.add(clause)
        duration = draw(st.integers(0, 3_000))
        words = draw(st.lists(st.integers(-5, 4_000), max_size=8)) if timings else None
        assert spoken.on_spoken(index, duration, words)
        total += duration
    spoken.complete()
    assert spoken.on_sent(total)
    return Said(spoken, total)


def is_word_end(text: str, chars: int) -> bool:
    return chars in (0, len(text)) or chars in word_ends(text)


@given(said(timings=False), st.integers(0, 12_000))
def test_c2_without_timings_heard_is_a_share_rounded_down_to_a_word(
    reply: Said, played: int
) -> None:
    spoken = reply.spoken
    spoken.on_played(played)
    heard = spoken.heard_chars
    assert is_word_end(spoken.text, heard)
    begun = 0  # no word of a clause that has not begun, no more of one than its share
    for clause, sound in spoken._voiced():
        elapsed = min(played, reply.total_ms) - begun
        if clause.start < heard <= clause.end and elapsed < sound.duration_ms:
            assert heard - clause.start <= len(clause.text) * elapsed / sound.duration_ms
        begun += sound.duration_ms


@given(st.booleans().flatmap(lambda timed: said(timings=timed)), st.lists(st.integers(0, 9_000)))
def test_c1_heard_words_grow_with_playback_and_are_a_prefix(reply: Said, acks: list[int]) -> None:
    spoken = reply.spoken
    last = 0
    for ack in sorted(acks):
        spoken.on_played(ack)
        assert spoken.heard_chars >= last
        assert spoken.text.startswith(spoken.heard_text)
        assert is_word_end(spoken.text, spoken.heard_chars)
        last = spoken.heard_chars
    spoken.on_played(reply.total_ms)
    assert spoken.is_over
    assert spoken.heard_chars == (len(spoken.text) if reply.total_ms else 0)


@given(said(timings=False), st.lists(MS, min_size=1), st.lists(MS, min_size=1))
def test_of_ack_and_truncate_the_smaller_wins(
    reply: Said, acks: list[int], cuts: list[int]
) -> None:
    cursor = reply.spoken.cursor
    for ack in acks:
        reply.spoken.on_played(ack)
    for cut in cuts:
        reply.spoken.on_truncated(cut)
    smaller = min(max(acks), *cuts, reply.total_ms)
    assert cursor.heard_ms == max(0, smaller)


@given(said(timings=False), st.integers(0, 5_000), REPORTS)
def test_c6_after_the_freeze_no_report_changes_what_was_heard(
    reply: Said, played: int, reports: list[tuple[str, int]]
) -> None:
    spoken = reply.spoken
    spoken.on_played(played)
    spoken.freeze()
    heard = (spoken.heard_chars, spoken.cursor.heard_ms)
    for _, value in reports:
        assert not spoken.on_played(value)
        assert not spoken.on_truncated(value)
        assert not spoken.on_sent(value)
        assert not spoken.on_written(value)
        assert not spoken.on_spoken(value, 100)
    assert (spoken.heard_chars, spoken.cursor.heard_ms) == heard
    assert spoken.cursor.committed_ms == spoken.cursor.heard_ms


@given(st.lists(TEXTS, max_size=6), st.lists(st.integers(-5, 200), max_size=8))
def test_without_a_voice_heard_is_what_was_written_rounded_down(
    parts: list[str], written: list[int]
) -> None:
    spoken = SpokenText(has_voice=False)
    last = most = 0
    for part, chars in zip(parts, [*written, *(0 for _ in parts)], strict=False):
        spoken.append(part)
        spoken.on_written(chars)
        most = max(most, min(chars, len(spoken.text)))
        assert last <= spoken.heard_chars <= most
        last = spoken.heard_chars
    spoken.complete()
    spoken.on_written(len(spoken.text))
    assert spoken.is_over
    assert spoken.heard_text == "".join(parts[: len(parts)])


@given(TEXTS)
def test_word_ends_rise_and_follow_something_that_is_no_blank(text: str) -> None:
    ends = word_ends(text)
    assert ends == sorted(set(ends))
    assert all(not text[end - 1].isspace() for end in ends)
    assert (len(ends) > 0) == (text.strip() != "")
