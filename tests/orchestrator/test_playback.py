"""The playback cursor and heard text, by example."""

from __future__ import annotations

import pytest

from onlooker.orchestrator.clauses import Clause, ClauseSegmenter
from onlooker.orchestrator.playback import PlaybackCursor, SpokenText, word_ends

pytestmark = pytest.mark.pure

TWENTY = " ".join(f"word{n:02}" for n in range(20))
"""20 words of six letters."""


def speak(text: str, duration_ms: int, ends: list[int] | None = None) -> SpokenText:
    """One clause, synthesised and sent whole."""
    spoken = SpokenText()
    spoken.add(Clause(text, 0, len(text)))
    assert spoken.on_spoken(0, duration_ms, ends)
    spoken.complete()
    spoken.on_sent(duration_ms)
    return spoken


def speak_clauses(text: str, durations: list[int]) -> SpokenText:
    segmenter, spoken = ClauseSegmenter(), SpokenText()
    clauses = (*segmenter.feed(text), *segmenter.finish())
    for clause, duration in zip(clauses, durations, strict=True):
        spoken.on_spoken(spoken.add(clause), duration)
    spoken.complete()
    spoken.on_sent(sum(durations))
    return spoken


# -- the cursor -----------------------------------------------------------------------------------


def test_each_watermark_is_clamped_to_the_one_above() -> None:
    cursor = PlaybackCursor()
    cursor.send(500)
    cursor.play(400)
    cursor.commit(300)
    assert (cursor.committed_ms, cursor.played_ms, cursor.sent_ms, cursor.generated_ms) == (0,) * 4
    cursor.generate(1_000)
    cursor.send(600)
    cursor.play(10**9)
    cursor.commit(10**9)
    assert (cursor.committed_ms, cursor.played_ms, cursor.sent_ms) == (600, 600, 600)


def test_acks_out_of_order_leave_the_highest() -> None:
    cursor = PlaybackCursor()
    cursor.generate(1_000)
    cursor.send(1_000)
    for ack in (300, 700, 500, -1):
        cursor.play(ack)
    assert cursor.played_ms == cursor.heard_ms == 700


@pytest.mark.parametrize(
    ("acks", "cuts", "heard"),
    [
        ([500], [800], 500),
        ([800], [500], 500),
        ([300], [800, 200, 600], 200),
        ([], [400], 400),
        ([], [], 0),
        ([500], [0], 0),
        ([500], [-7], 0),
    ],
)
def test_the_smaller_of_ack_and_truncate_counts(
    acks: list[int], cuts: list[int], heard: int
) -> None:
    cursor = PlaybackCursor()
    cursor.generate(1_000)
    cursor.send(1_000)
    for ack in acks:
        cursor.play(ack)
    for cut in cuts:
        cursor.truncate(cut)
    assert cursor.heard_ms == heard


def test_an_ack_after_the_truncate_does_not_pass_it() -> None:
    cursor = PlaybackCursor()
    cursor.generate(1_000)
    cursor.send(1_000)
    cursor.truncate(400)
    cursor.play(300)
    assert cursor.heard_ms == 300
    cursor.play(900)
    assert cursor.heard_ms == 400
    assert cursor.played_ms == 900


def test_a_truncate_does_not_undo_what_is_kept_for_good() -> None:
    cursor = PlaybackCursor()
    cursor.generate(1_000)
    cursor.send(1_000)
    cursor.play(700)
    cursor.commit(600)
    cursor.truncate(100)
    assert cursor.heard_ms == cursor.committed_ms == 600


# -- time to words --------------------------------------------------------------------------------


def test_c1_words_after_the_last_ack_are_not_heard() -> None:
    spoken = speak(TWENTY, 2_000, [100 * n for n in range(1, 21)])
    spoken.on_played(500)
    assert spoken.heard_text == "word00 word01 word02 word03 word04"
    spoken.on_played(599)
    assert spoken.heard_text.endswith("word04")


def test_c2_without_timings_heard_is_proportional_and_rounded_down() -> None:
    spoken = speak(TWENTY, 2_000)
    spoken.on_played(480)
    share = len(TWENTY) * 480 / 2_000
    assert spoken.heard_text == "word00 word01 word02 word03"
    assert len(spoken.heard_text) <= share < len(spoken.heard_text) + 7


def test_c2_blanks_in_front_do_not_raise_the_share() -> None:
    spoken = speak("    go now", 100)
    spoken.on_played(50)
    assert spoken.heard_text == ""
    spoken.on_played(60)
    assert spoken.heard_text == "    go"


def test_c5_nothing_played_is_nothing_heard() -> None:
    spoken = speak("Hello there.", 900)
    assert spoken.heard_chars == 0
    spoken.on_truncated(0)
    assert spoken.heard_text == ""


def test_c5_a_first_clause_without_sound_is_not_heard_before_anything_played() -> None:
    spoken = speak_clauses("Oh! Hello there.", [0, 900])
    assert spoken.heard_chars == 0
    spoken.on_played(1)
    assert spoken.heard_text == "Oh!"


def test_c6_a_late_ack_is_refused_and_can_be_counted() -> None:
    old = speak("Hello there.", 900)
    old.on_played(500)
    old.freeze()
    assert old.on_played(900) is False
    assert old.on_truncated(100) is False
    assert old.heard_text == "Hello"
    assert old.is_frozen


def test_a_clause_that_was_played_is_heard_and_the_next_one_in_part() -> None:
    spoken = speak_clauses("One two. Three four.", [600, 1_000])
    spoken.on_played(600)
    assert spoken.heard_text == "One two."
    spoken.on_played(1_200)
    assert spoken.heard_text == "One two. Three"
    assert not spoken.is_over
    spoken.on_played(1_600)
    assert spoken.heard_text == "One two. Three four."
    assert spoken.is_over


def test_sound_counts_only_behind_the_sound_before_it() -> None:
    spoken = SpokenText()
    spoken.add(Clause("One. ", 0, 5))
    spoken.add(Clause("Two.", 5, 9))
    assert spoken.on_spoken(1, 400)
    assert spoken.cursor.generated_ms == 0
    assert spoken.on_spoken(0, 300)
    assert spoken.cursor.generated_ms == 700
    spoken.complete()
    spoken.on_sent(700)
    spoken.on_played(300)
    assert spoken.heard_text == "One."


def test_a_response_with_more_text_to_come_is_not_over() -> None:
    spoken = SpokenText()
    spoken.on_spoken(spoken.add(Clause("One. ", 0, 5)), 300)
    spoken.on_sent(300)
    spoken.on_played(300)
    assert not spoken.is_over
    assert spoken.heard_text == "One."
    spoken.add(Clause("Two.", 5, 9))
    spoken.complete()
    assert not spoken.is_over, "the sound of its last clause is missing"


@pytest.mark.parametrize("clause", [-1, 1, 7])
def test_sound_of_an_unknown_clause_is_refused(clause: int) -> None:
    assert speak("Hi.", 100).on_spoken(clause, 100) is False


def test_a_second_sound_of_a_clause_is_refused() -> None:
    spoken = speak("Hi.", 100)
    assert spoken.on_spoken(0, 5_000) is False
    assert spoken.cursor.generated_ms == 100


def test_a_sound_of_negative_length_counts_as_none() -> None:
    spoken = speak("Hi.", -5)
    assert spoken.cursor.generated_ms == 0
    assert spoken.is_over
    assert spoken.heard_chars == 0


def test_timings_that_go_back_are_read_as_waiting() -> None:
    spoken = speak("one two three", 900, [300, 100, 900])
    spoken.on_played(299)
    assert spoken.heard_text == ""
    spoken.on_played(300)
    assert spoken.heard_text == "one two"


def test_a_clause_that_was_played_whole_is_heard_whatever_its_timings_say() -> None:
    spoken = speak("one two", 900, [400, 1_200])
    spoken.on_played(899)
    assert spoken.heard_text == "one"
    spoken.on_played(900)
    assert spoken.heard_text == "one two"


def test_timings_of_other_words_fall_back_to_the_share() -> None:
    spoken = speak("about 3.5 metres", 1_000, [200, 400, 500, 600, 1_000])
    spoken.on_played(600)
    assert spoken.heard_text == "about 3.5"


def test_timings_may_count_characters_of_a_wide_script() -> None:
    spoken = speak("你好世界。", 1_000, [200, 400, 700, 1_000])
    spoken.on_played(400)
    assert spoken.heard_text == "你好"


def test_timings_may_count_words_between_blanks_in_a_mixed_text() -> None:
    spoken = speak("go 你好 now", 900, [300, 600, 900])
    spoken.on_played(600)
    assert spoken.heard_text == "go 你好"


def test_a_clause_of_blanks_is_never_heard_by_itself() -> None:
    spoken = SpokenText()
    spoken.on_spoken(spoken.add(Clause("  ", 0, 2)), 100)
    spoken.on_sent(100)
    spoken.on_played(100)
    assert spoken.heard_chars == 0


@pytest.mark.parametrize("clause", [Clause("late", 3, 7), Clause("long", 0, 3)])
def test_clauses_with_gaps_are_a_bug_of_the_caller(clause: Clause) -> None:
    with pytest.raises(AssertionError):
        SpokenText().add(clause)


# -- without a voice ------------------------------------------------------------------------------


def write(text: str, chars: int, *, complete: bool) -> str:
    spoken = SpokenText(has_voice=False)
    spoken.append(text)
    spoken.on_written(chars)
    if complete:
        spoken.complete()
    return spoken.heard_text


@pytest.mark.parametrize(
    ("text", "chars", "complete", "heard"),
    [
        ("Hello wor", 9, False, "Hello"),
        ("Hello wor", 9, True, "Hello wor"),
        ("Hello world", 8, True, "Hello"),
        ("Hello world", 5, False, "Hello"),
        ("Hello", 5, False, ""),
        ("Hello ", 6, False, "Hello"),
        ("Hello ", 6, True, "Hello "),
        ("你好世", 2, False, "你好"),
        ("你好世", 3, False, "你好"),
        ("你好世", 3, True, "你好世"),
        ("", 0, False, ""),
        ("Hi", 99, True, "Hi"),
    ],
)
def test_written_text_is_heard_in_whole_words(
    text: str, chars: int, complete: bool, heard: str
) -> None:
    assert write(text, chars, complete=complete) == heard


def test_c5_nothing_written_is_nothing_heard() -> None:
    spoken = SpokenText(has_voice=False)
    spoken.append("I see a cat.")
    spoken.complete()
    assert spoken.heard_chars == 0
    assert not spoken.is_over


def test_without_a_voice_clauses_are_text_as_well() -> None:
    spoken = SpokenText(has_voice=False)
    spoken.add(Clause("One. ", 0, 5))
    spoken.append("Two.")
    spoken.complete()
    spoken.on_written(9)
    assert spoken.heard_text == "One. Two."
    assert spoken.is_over


def test_with_a_voice_text_outside_clauses_is_a_bug_of_the_caller() -> None:
    with pytest.raises(AssertionError):
        SpokenText().append("text")


def test_written_reports_after_the_freeze_are_refused() -> None:
    spoken = SpokenText(has_voice=False)
    spoken.append("Hello there")
    spoken.freeze()
    assert spoken.on_written(5) is False
    assert spoken.heard_chars == 0


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("", []),
        ("  ", []),
        ("one two", [3, 7]),
        (" one  two ", [4, 9]),
        ("你好，世界", [1, 3, 4, 5]),  # noqa: RUF001
        ("go你好", [2, 3, 4]),
    ],
)
def test_words_end_at_blanks_or_between_wide_characters(text: str, ends: list[int]) -> None:
    assert word_ends(text) == ends
