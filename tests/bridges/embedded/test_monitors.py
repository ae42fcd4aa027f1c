"""Standing queries that are told whenever the event happens, over the whole contract."""

from __future__ import annotations

import pytest

from onlooker.bridges.model.embedded.sight.objects import Found
from onlooker.decision.dialect import Dialect
from tests.bridges.embedded.stage import (
    BOTH,
    GENERIC,
    Stage,
    Things,
    encoded,
    eye_of,
    plain,
    qr,
    scene,
)

pytestmark = pytest.mark.shell

EMPTY, CAT, FAINT, TWO, RED_CAR = range(5)
THINGS: Things = {
    CAT: [("cat", 0.9)],
    FAINT: [("cat", 0.35)],
    TWO: [("person", 0.9), ("person", 0.8)],
    RED_CAR: [Found("car", 0.8, ("red",))],
}
each_dialect = pytest.mark.parametrize("dialect", BOTH, ids=lambda d: d.name)


def watching(dialect: Dialect = GENERIC) -> Stage:
    return Stage(dialect, eye_of(THINGS, {}))


async def told(stage: Stage, query: str, *codes: int, step_s: float = 1.0) -> list[str]:
    """What is said while the scenes pass, one a tick; the query comes with the first."""
    said = []
    for number, code in enumerate(codes):
        asked = {"ask": query} if number == 0 else {}
        said.append(await stage.said(number * step_s, scene(code), **asked))
    return said


@each_dialect
async def test_silent_until_it_appears_silent_while_it_stays_and_told_again_when_back(
    dialect: Dialect,
) -> None:
    said = await told(
        watching(dialect), "tell me when a cat appears",
        EMPTY, EMPTY, CAT, CAT, CAT, EMPTY, EMPTY, EMPTY, CAT,
    )  # fmt: skip
    assert said == ["", "", "I see a cat.", "", "", "", "", "", "I see a cat again."]


async def test_a_detector_that_flickers_does_not_make_it_tell_again() -> None:
    said = await told(
        watching(), "tell me when a cat appears", CAT, EMPTY, CAT, FAINT, FAINT, FAINT, CAT
    )
    assert said == ["I see a cat.", *[""] * 6]


async def test_a_faint_score_alone_is_no_alert() -> None:
    assert await told(watching(), "tell me when a cat appears", FAINT, FAINT) == ["", ""]


async def test_an_alert_that_was_not_heard_is_given_again() -> None:
    stage = watching()
    await stage.said(0, scene(EMPTY), ask="tell me when a cat appears")
    silence = stage.dialect.text.silence
    assert await stage.said(1, scene(CAT), heard=silence) == "I see a cat."
    cut = stage.dialect.text.respond.format(text="I see —")
    assert await stage.said(2, scene(CAT), heard=cut) == "I see a cat."
    assert await stage.said(3, scene(CAT)) == "I see a cat."
    assert await stage.said(4, scene(CAT)) == ""


async def test_words_heard_later_count_as_told() -> None:
    stage = watching()
    await stage.said(0, scene(EMPTY), ask="tell me when a cat appears")
    await stage.said(1, scene(CAT), heard=stage.dialect.text.silence)
    fact = stage.dialect.text.heard_line.format(text="I see a cat.")
    assert await stage.said(2, scene(CAT), facts=[fact]) == ""


async def test_asking_again_rearms() -> None:
    stage = watching()
    query = "tell me when a cat appears"
    assert await told(stage, query, CAT, CAT) == ["I see a cat.", ""]
    assert await stage.said(2, scene(CAT), ask=query) == "I see a cat."


async def test_a_cancelled_query_is_over() -> None:
    stage = watching()
    query = "tell me when a cat appears"
    await stage.said(0, scene(EMPTY), ask=query)
    fact = stage.dialect.text.cancelled_line.format(text=query)
    assert await stage.said(1, scene(CAT), facts=[fact]) == ""
    assert await stage.said(2, scene(CAT)) == ""


async def test_leaving_needs_to_have_been_seen_and_to_last() -> None:
    said = await told(
        watching(), "tell me when the cat leaves",
        EMPTY, EMPTY, CAT, EMPTY, EMPTY, EMPTY, EMPTY, CAT, EMPTY, EMPTY, EMPTY,
    )  # fmt: skip
    gone = "I no longer see a cat."
    assert said == ["", "", "", "", "", gone, "", "", "", "", gone]


async def test_coming_back_means_having_been_away() -> None:
    said = await told(
        watching(), "tell me when the cat comes back", CAT, CAT, EMPTY, EMPTY, EMPTY, CAT, CAT
    )
    assert said == ["", "", "", "", "", "The cat is back.", ""]
    assert (await told(watching(), "tell me when the cat comes back", EMPTY, CAT))[1]


async def test_counts_are_watched() -> None:
    said = await told(watching(), "tell me when there are two people", EMPTY, TWO, TWO)
    assert said == ["", "I count 2 people.", ""]
    said = await told(watching(), "tell me when there is nobody", TWO, EMPTY)
    assert said == ["", "I count no people."]
    said = await told(watching(), "tell me when there are fewer than 2 people", TWO, EMPTY)
    assert said == ["", "I count no people."]


async def test_a_thing_of_another_colour_is_another_thing() -> None:
    assert await told(watching(), "tell me when a blue car appears", RED_CAR) == [""]
    assert await told(watching(), "tell me when a red car appears", RED_CAR) == ["I see a red car."]


async def test_several_standing_queries_are_served_in_one_reply() -> None:
    stage = watching()
    await stage.said(0, scene(11), ask=["tell me when a cat appears", "tell me when it gets dark"])
    await stage.said(1, scene(11), ask="tell me when two people are in view")
    assert await stage.said(2, scene(CAT)) == "I see a cat. It has become dark."
    assert await stage.said(3, scene(TWO)) == "I count 2 people."


async def test_joyvl_holds_one_query_and_a_new_one_takes_its_place() -> None:
    stage = watching(BOTH[0])
    await stage.said(0, scene(EMPTY), ask="tell me when a cat appears")
    await stage.said(1, scene(EMPTY), ask="tell me when a car appears")
    assert await stage.said(2, scene(CAT)) == ""
    assert await stage.said(3, scene(RED_CAR)) == "I see a car."


def moving(number: int) -> bytes:
    image = plain(100, 100, 100)
    image[20:50, 5 + 10 * number : 35 + 10 * number] = 230
    return encoded(image)


async def test_movement_begins_and_ends() -> None:
    stage = watching()
    pictures = [moving(n) for n in (0, 0, 1, 2, 3, 3, 3, 3, 3)]
    queries = ["tell me when something moves", "tell me when it stops moving"]
    said = [await stage.said(0, pictures[0], ask=queries)]
    said += [await stage.said(n, data) for n, data in enumerate(pictures[1:], 1)]
    still = "Nothing is moving any more."
    assert said == ["", "", "Something is moving.", "", "", "", "", still, ""]


async def test_an_unchanged_picture_is_stillness_and_no_video_is_not() -> None:
    stage, text = watching(), GENERIC.text
    await stage.said(0, moving(0), ask="tell me when it stops moving")
    await stage.said(1, moving(1))
    for number in range(2, 6):
        assert await stage.said(number, notice=text.no_video) == ""
    said = [await stage.said(number, moving(1)) for number in range(6, 9)]
    assert [bool(text) for text in said] == [False, False, True]


async def test_each_scene_change_is_told_once() -> None:
    stage = watching()
    blue, red = encoded(plain(200, 40, 20)), encoded(plain(20, 40, 220))
    await stage.said(0, blue, ask="tell me when the scene changes")
    said = [await stage.said(n / 4, data) for n, data in enumerate([blue, red, red, blue, blue], 1)]
    changed = "The scene has changed."
    assert said == ["", changed, "", changed, ""]


async def test_dark_and_bright_have_some_slack() -> None:
    stage = watching()
    levels = (120, 100, 55, 65, 55, 95, 95)
    said = []
    for n, level in enumerate(levels):
        queries = ["tell me when it gets dark", "tell me when the light goes on"] if n == 0 else ()
        said.append(await stage.said(n, encoded(plain(level, level, level)), ask=queries))
    assert said == ["", "", "It has become dark.", "", "", "It has become bright.", ""]


async def test_a_colour_is_told_when_enough_of_it_is_in_view() -> None:
    stage = watching()
    image = plain(128, 128, 128)
    some = image.copy()
    some[:30, :40] = (0, 0, 220)
    await stage.said(0, encoded(image), ask="tell me when you see red")
    assert await stage.said(1, encoded(some)) == "I see the colour red."
    assert await stage.said(2, encoded(some)) == ""


async def test_a_qr_code_is_read_out() -> None:
    stage = watching()
    await stage.said(0, scene(EMPTY), ask="tell me when you see a QR code")
    assert await stage.said(1, qr("door 7")) == "I see a QR code: “door 7”."
    assert await stage.said(2, qr("door 7")) == ""


async def test_a_word_in_view_is_told() -> None:
    stage = Stage(GENERIC, eye_of({}, {1: ("EXIT",), 2: ("Please", "STOP!")}))
    await stage.said(0, scene(1), ask="tell me when the sign says stop")
    assert await stage.said(1, scene(1)) == ""
    assert await stage.said(2, scene(2)) == "I can read: “Please / STOP!”."


async def test_after_a_boundary_the_head_tells_what_was_told() -> None:
    text = GENERIC.text
    head = "\n".join(
        [
            text.video_history_header,
            text.range_label.format(start="0.0", end="9.0"),
            "Seen from 0.0 s to 9.0 s in 9 pictures: cat from 5.0 s to 9.0 s, at most 1. Looked "
            "for things in 9 pictures. Movement in 0 pictures. In view at the end: cat.",
            "",
            text.qa_history_header,
            text.qa_response.format(seconds="5.0", text="I see a cat."),
            "",
            text.standing_header,
            text.standing_line.format(text="tell me when a cat appears"),
            text.standing_line.format(text="tell me when the cat leaves"),
        ]
    )
    stays = Stage(GENERIC, eye_of(THINGS, {}), head=head)
    assert [await stays.said(10 + n, scene(code)) for n, code in enumerate((CAT, CAT))] == ["", ""]
    leaves = Stage(GENERIC, eye_of(THINGS, {}), head=head)
    codes = (EMPTY, EMPTY, EMPTY, CAT)
    said = [await leaves.said(10 + n, scene(code)) for n, code in enumerate(codes)]
    assert said == ["", "", "I no longer see a cat.", "I see a cat again."]


def head_after(*, seen_until_s: float, at_end: str) -> str:
    """A head whose summary saw a cat, from 5 s on, in a stretch that ended at 9 s."""
    text = GENERIC.text
    lines = [
        text.video_history_header,
        text.range_label.format(start="0.0", end="9.0"),
        "Seen from 0.0 s to 9.0 s in 9 pictures: "
        f"cat from 5.0 s to {seen_until_s:.1f} s, at most 1. "
        f"Looked for things in 9 pictures. Movement in 0 pictures. In view at the end: {at_end}.",
        "",
        text.qa_history_header,
        text.qa_response.format(seconds="5.0", text="I see a cat."),
        "",
        text.standing_header,
    ]
    queries = (f"tell me when the cat {what}" for what in ("appears", "leaves", "comes back"))
    return "\n".join([*lines, *(text.standing_line.format(text=query) for query in queries)])


async def over_boundary(head: str, *codes: int) -> list[str]:
    stage = Stage(GENERIC, eye_of(THINGS, {}), head=head)
    return [await stage.said(9.5 + number, scene(code)) for number, code in enumerate(codes)]


async def test_a_thing_that_left_before_the_boundary_and_is_back_after_it_is_told() -> None:
    head = head_after(seen_until_s=6, at_end="nothing")
    assert await over_boundary(head, CAT, CAT) == ["I see a cat again. The cat is back.", ""]


async def test_a_thing_that_stayed_over_the_boundary_is_not_told_again() -> None:
    head = head_after(seen_until_s=9, at_end="cat")
    assert await over_boundary(head, CAT, FAINT, FAINT, CAT) == [""] * 4


async def test_a_thing_that_left_around_the_boundary_is_told_of_once() -> None:
    gone = "I no longer see a cat."
    head = head_after(seen_until_s=8.5, at_end="nothing")
    assert await over_boundary(head, EMPTY, EMPTY, EMPTY) == ["", gone, ""]
    told_before = head_after(seen_until_s=6, at_end="nothing")
    assert await over_boundary(told_before, EMPTY, EMPTY, EMPTY) == [""] * 3


async def test_four_pictures_in_a_tick_are_all_looked_at() -> None:
    stage = watching()
    await stage.said(0, scene(EMPTY), ask="tell me when a cat appears")
    assert await stage.said(1, scene(EMPTY), scene(CAT), scene(EMPTY)) == "I see a cat."
