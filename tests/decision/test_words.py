from __future__ import annotations

from dataclasses import replace

import pytest

from onlooker.decision import GENERIC, JOYVL
from onlooker.decision.words import fact_text, look_text, query_text, seconds, tick_items
from onlooker.memory.entries import (
    CancelFact,
    DelegatedFact,
    ExpiredFact,
    GapFact,
    HeardFact,
)
from onlooker.types import FrameRef, InstructionId, Ms, ResponseId, Ticket, VideoState
from tests.decision.scenes import query, tick

pytestmark = pytest.mark.pure

ONE = InstructionId("q1")
HEADER = "[User Query (IMPORTANT — follow this instruction)]"


def words(one, dialect=JOYVL) -> list[str]:
    return ["picture" if isinstance(item, FrameRef) else item for item in tick_items(one, dialect)]


@pytest.mark.parametrize(
    ("ms", "text"), [(0, "0.0"), (49, "0.0"), (50, "0.1"), (11_950, "12.0"), (3_600_000, "3600.0")]
)
def test_seconds_are_rounded_half_up_at_a_tenth(ms, text):
    assert seconds(ms) == text


def test_a_user_message_of_joyvl_is_query_label_pictures():
    assert words(tick(3, query("What now?"), frames=4)) == [
        f"{HEADER}\nWhat now?", "<3.0 seconds>", "picture", "picture", "picture", "picture",
    ]  # fmt: skip


def test_late_facts_come_between_query_and_label():
    cancel = CancelFact(ONE, "Count the cars.", Ms(0))
    assert words(tick(3, cancel, query("What now?")), GENERIC) == [
        "[Request]\nWhat now?\n",
        "[Request cancelled] Count the cars.\n",
        "[Time 3.0 s]\n",
        "picture",
    ]
    assert words(tick(3, cancel, query("What now?")))[0] == f"{HEADER}\nWhat now?\n"


def test_several_queries_stand_each_under_its_header():
    shown = words(tick(3, query("One?"), query("Two?")))
    assert shown[:2] == [f"{HEADER}\nOne?\n", f"{HEADER}\nTwo?"]


def test_b15_the_header_is_shown_by_the_tick_of_the_query_alone():
    assert HEADER in words(tick(3, query()))[0]
    assert not any(HEADER in item for item in words(tick(4)))


def test_b13_a_query_asked_again_or_cut_off_shows_its_header_again():
    assert query_text(query("What now?"), JOYVL.text) == f"{HEADER}\nWhat now?"
    again = query_text(query("What now?", cut_off=True), JOYVL.text)
    assert again.startswith(f"{HEADER}\nWhat now?\n")
    assert "cut off" in again


def test_the_label_is_the_capture_time_and_not_the_time_of_the_tick():
    late = replace(tick(9), label_ms=Ms(8_040))
    assert look_text(late, JOYVL.text) == "<8.0 seconds>"
    assert look_text(replace(late, label_ms=None), JOYVL.text) == "<9.0 seconds>"


def test_c20_without_a_picture_the_state_of_the_camera_takes_the_labels_place():
    for dialect in (JOYVL, GENERIC):
        text = dialect.text
        for video, state in (
            (VideoState.NO_VIDEO, text.no_video),
            (VideoState.CAMERA_OFF, text.camera_off),
            (VideoState.UNCHANGED, text.unchanged),
        ):
            shown = words(tick(3, frames=0, video=video), dialect)
            assert [item.removesuffix("\n") for item in shown] == [state]


def test_every_fact_has_its_line():
    text = GENERIC.text
    heard = HeardFact(ResponseId("r1"), "and left", Ms(0))
    answer = DelegatedFact(Ticket("d1"), "Who won?", "France.", Ms(0), "being read aloud")
    assert fact_text(query("What now?"), text) == "[Request]\nWhat now?"
    assert fact_text(CancelFact(ONE, "Count.", Ms(0)), text) == "[Request cancelled] Count."
    assert fact_text(ExpiredFact(ONE, "Count.", Ms(0)), text) == "[Request ended] Count."
    assert fact_text(heard, text) == "[Said since] and left"
    assert fact_text(replace(heard, interrupted=True), text) == "[Said since] and left —"
    assert fact_text(answer, text) == (
        "[Background answer] Question: Who won? Answer: France. Delivery: being read aloud"
    )
    assert fact_text(replace(answer, failed=True, text="No network."), text) == (
        "[Background answer] Question: Who won? No answer: No network."
    )
    assert fact_text(GapFact(Ms(1_000), Ms(9_500)), text) == (
        "[Time 1.0 s to 9.5 s]\nNobody was watching."
    )


def test_braces_in_a_users_words_are_just_words():
    assert query_text(query("{seconds} {0}", cut_off=True), GENERIC.text).startswith(
        "[Request]\n{seconds} {0}\n"
    )
