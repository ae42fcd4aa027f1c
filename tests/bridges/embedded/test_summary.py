"""Factual summaries of chunks and blocks, and that the eye can read its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker.bridges.model.embedded.record import (
    MAX_CUTS,
    MAX_NAMES,
    Before,
    Record,
    Stay,
    before,
    merge,
)
from onlooker.bridges.model.embedded.sight import Sight
from onlooker.bridges.model.embedded.summary import NOTHING_SEEN
from onlooker.decision import Dialect, summary_prompt
from onlooker.memory.entries import QueryFact, SummaryRequest, TailTick
from onlooker.types import (
    FrameRef,
    FrameUuid,
    InstructionId,
    Ms,
    Segments,
    TickIndex,
    VideoState,
    canonical_bytes,
)
from tests.bridges.embedded.stage import (
    BOTH,
    GENERIC,
    JOYVL,
    Stage,
    Things,
    eye_of,
    picture_part,
    qr,
    scene,
    text_part,
    uuid_of,
)

pytestmark = pytest.mark.shell

THINGS: Things = {
    1: [("cat", 0.9)],
    2: [("cat", 0.9), ("cat", 0.8), ("dog", 0.6)],
    3: [("dog", 0.4)],
}
each_dialect = pytest.mark.parametrize("dialect", BOTH, ids=lambda d: d.name)


async def summary_of(stage: Stage, *parts: dict[str, Any], system: str) -> str:
    stage.messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": list(parts)},
    ]
    return await stage.complete()


def labelled(dialect: Dialect, *pictures: bytes) -> list[dict[str, Any]]:
    parts = []
    for number, data in enumerate(pictures):
        parts.append(text_part(dialect.text.time_label.format(seconds=f"{number}.0")))
        parts.append(picture_part(data))
    return parts


@each_dialect
async def test_a_chunk_is_summarised_with_times_counts_light_and_movement(dialect: Dialect) -> None:
    stage = Stage(dialect, eye_of(THINGS, {}))
    parts = labelled(dialect, scene(0), scene(1), scene(2), scene(11), scene(11))
    text = await summary_of(stage, *parts, system="Write a factual summary of these pictures.")
    assert text == (
        "Seen from 0.0 s to 4.0 s in 5 pictures: cat from 1.0 s to 2.0 s, at most 2; dog from 2.0 "
        "s to 2.0 s, at most 1. Looked for things in 5 pictures. Brightness 10 to 230 of 255. Main "
        "colours: black, grey, white. Movement in 3 pictures. Scene changes at 2.0 s, 3.0 s. In "
        "view at the end: nothing."
    )
    assert not any(marker in text for marker in "<>[]")


async def test_a_summary_can_ride_on_the_live_prompt() -> None:
    stage = Stage(JOYVL, eye_of(THINGS, {}))
    for number in range(3):
        await stage.tick(number, scene(number), ask=["tell me when a cat appears"][number:])
    parts = [text_part("Write a factual summary of all pictures so far.")]
    stage.messages.append({"role": "user", "content": parts})
    text = await stage.complete()
    assert text.startswith("Seen from 0.0 s to 2.0 s in 3 pictures: cat from 1.0 s")


async def test_without_the_extra_a_summary_claims_nothing_about_things() -> None:
    stage = Stage(GENERIC, Sight())
    parts = labelled(GENERIC, scene(1), scene(1))
    text = await summary_of(stage, *parts, system="Write a factual summary.")
    assert "nothing I can name. Looked for things in 0 pictures." in text
    assert "In view at the end" not in text


async def test_texts_and_codes_that_were_read_are_in_the_summary() -> None:
    stage = Stage(GENERIC, eye_of({}, {1: ("OVEN",)}))
    await stage.tick(0, scene(1), ask=["read the text", "scan the QR code"])
    await stage.tick(1, qr("door 7"))
    parts = labelled(GENERIC, scene(1), qr("door 7"))
    text = await summary_of(stage, *parts, system="Write a factual summary.")
    assert "Text in view: “OVEN”." in text
    assert "QR codes: “door 7”." not in text  # nobody asked any more when it came
    assert Record.read(text) is not None


async def test_a_summary_of_a_long_chunk_looks_at_a_sample() -> None:
    pictures = [qr(f"number {n}") for n in range(40)]
    stage = Stage(GENERIC, eye_of({}, {}))
    parts = labelled(GENERIC, *pictures)
    text = await summary_of(stage, *parts, system="Write a factual summary.")
    assert "in 40 pictures" in text
    assert "Looked for things in 8 pictures." in text


async def test_no_pictures_is_said_as_such() -> None:
    stage = Stage(GENERIC)
    text = await summary_of(stage, text_part("[Time 0.0 s]"), system="Write a factual summary.")
    assert text == NOTHING_SEEN
    assert (
        await summary_of(stage, text_part("none"), system="Merge these summaries.") == NOTHING_SEEN
    )


@each_dialect
async def test_own_summaries_are_merged_and_others_kept_in_short(dialect: Dialect) -> None:
    text = dialect.text
    first, second = Record(0, 4_000, 5, 5, 2), Record(5_000, 9_000, 5, 5, 0)
    first.stays["cat"], second.stays["cat"] = Stay(1_000, 4_000, 1), Stay(5_000, 6_000, 3)
    first.darkest = second.darkest = 20
    first.brightest, second.brightest = 90, 120
    second.at_end = ["dog"]
    fallback = text.fallback_summary.format(start="9.0", end="12.0", frames=3)
    ranges = (("0.0", "4.0"), ("5.0", "9.0"), ("9.0", "12.0"))
    bodies = (first.write(), second.write(), fallback)
    entries = [
        f"{text.range_label.format(start=start, end=end)}\n{body}"
        for (start, end), body in zip(ranges, bodies, strict=True)
    ]
    merged = await summary_of(
        Stage(dialect), text_part("\n\n".join(entries)), system="Merge these summaries into one."
    )
    assert merged == (
        "Seen from 0.0 s to 9.0 s in 10 pictures: cat from 1.0 s to 6.0 s, at most 3. Looked for "
        "things in 10 pictures. Brightness 20 to 120 of 255. Movement in 2 pictures. In view at "
        f"the end: dog. 9.0 to 12.0 s: {fallback}"
    )


@each_dialect
async def test_the_orchestrators_own_requests_get_their_summaries(dialect: Dialect) -> None:
    """As ``summary_prompt`` asks: with what was asked and said, and a closing line."""
    stage = Stage(dialect, eye_of(THINGS, {}))
    ticks = []
    for number in range(3):
        data = scene(number)
        ref = FrameRef(FrameUuid(uuid_of(data)), Ms(number * 1000), 160, 90, len(data))
        asked = (QueryFact(InstructionId("i"), "tell me when a cat appears", Ms(0)),)
        reply = dialect.text.respond.format(text="I see a cat.")
        ticks.append(
            TailTick(
                TickIndex(number), Ms(number * 1000), Ms(number * 1000), VideoState.FRESH, (ref,),
                asked if number == 0 else (), reply if number == 1 else dialect.text.silence,
            )
        )  # fmt: skip
        await stage.tick(number, data)
    chunk = SummaryRequest("j", "chunk", 1, Ms(0), Ms(2_000), ticks=tuple(ticks))
    text = await written(stage, summary_prompt(dialect, chunk)[0])
    assert text.startswith("Seen from 0.0 s to 2.0 s in 3 pictures: cat from 1.0 s to 2.0 s")
    texts = ((Ms(0), Ms(2_000), text), (Ms(2_000), Ms(9_000), "Somebody else's notes."))
    block = SummaryRequest("k", "block", 1, Ms(0), Ms(9_000), texts=texts)
    merged = await written(stage, summary_prompt(dialect, block)[0])
    assert merged == f"{text} 2.0 to 9.0 s: Somebody else's notes."


async def written(stage: Stage, messages: Segments) -> str:
    stage.messages = json.loads(canonical_bytes(messages))
    return await stage.complete()


def test_the_newest_record_in_the_head_tells_how_things_stood() -> None:
    old, new = Record(0, 4_000, 4, 4), Record(4_000, 9_000, 5, 5)
    old.stays["dog"] = Stay(1_000, 4_000, 1)
    new.stays = {"cat": Stay(5_000, 9_000, 1), "dog": Stay(4_000, 6_000, 1)}
    new.at_end = ["cat"]
    history = f"{old.write()}\n\n{new.write()}"
    assert before(history, "cat") == Before(True, None, 9_000)
    assert before(history, "dog") == Before(False, 6_000, 9_000)
    assert before(history, "car") == Before(False, 4_000, 9_000)
    assert before("Somebody else's notes.", "cat") == before("", "cat") == Before()
    assert before(Record(0, 9_000, 5, 0).write(), "cat") == Before()


times = st.integers(0, 100_000).map(lambda tenths: tenths * 100)
names = st.sampled_from(["cat", "dog", "traffic light", "person", "cell phone"])
words = st.text(alphabet="abc 123", min_size=1, max_size=20).map(str.strip).filter(bool)


@st.composite
def records(draw: st.DrawFn) -> Record:
    low, high = sorted((draw(st.integers(0, 255)), draw(st.integers(0, 255))))
    looked = draw(st.integers(1, 50))
    stays = st.builds(Stay, times, times, st.integers(1, 9))
    return Record(
        draw(times), draw(times), draw(st.integers(1, 200)), looked, draw(st.integers(0, 200)),
        draw(st.dictionaries(names, stays, max_size=MAX_NAMES)),
        draw(st.lists(words.map(lambda w: " ".join(w.split())), max_size=4)),
        draw(st.lists(words.map(lambda w: " ".join(w.split())), max_size=4)),
        low, high, draw(st.lists(st.sampled_from(["red", "blue"]), max_size=2)),
        draw(st.lists(times, max_size=MAX_CUTS)), draw(st.lists(names, max_size=3)),
    )  # fmt: skip


@settings(max_examples=50)
@given(records())
def test_a_record_that_was_written_is_read_back(record: Record) -> None:
    assert Record.read(f"Notes.\n{record.write()} More notes.") == record


@settings(max_examples=25)
@given(st.lists(records(), min_size=1, max_size=4))
def test_merging_loses_no_thing_and_no_time(parts: list[Record]) -> None:
    whole = merge(parts)
    assert whole.pictures == sum(part.pictures for part in parts)
    for part in parts:
        assert whole.start_ms <= part.start_ms
        assert part.end_ms <= whole.end_ms
        for name, stay in part.stays.items():
            assert whole.stays[name].first_ms <= stay.first_ms
            assert stay.last_ms <= whole.stays[name].last_ms
            assert stay.most <= whole.stays[name].most


@given(st.text(max_size=200))
def test_any_text_can_be_tried_as_a_record(text: str) -> None:
    assert Record.read(text) is None or "Seen from" in text
