"""Wording: every sentence can be recognised again, and nothing from outside can act."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.bridges.model.embedded import speech
from onlooker.bridges.model.embedded.dialect import Dialect
from onlooker.bridges.model.embedded.language.intents import Thing
from onlooker.bridges.model.embedded.language.vocabulary import COCO_LABELS
from onlooker.decision import ActionDecided, ReplyEnded, ReplyParser, Respond, neutralise
from onlooker.decision import Dialect as Spoken
from tests.bridges.embedded.stage import BOTH

pytestmark = pytest.mark.pure

each_dialect = pytest.mark.parametrize("dialect", BOTH, ids=lambda d: d.name)
things = st.builds(
    Thing, st.sampled_from(sorted(COCO_LABELS.values())), st.sampled_from([None, "red", "orange"])
)


@given(things, st.integers(1, 9))
def test_what_was_said_is_recognised_by_its_key_and_by_no_opposite_one(
    thing: Thing, n: int
) -> None:
    said = {
        speech.appeared_key(thing): speech.appeared(thing, n),
        speech.left_key(thing): speech.left(thing),
        speech.returned_key(thing): speech.returned(thing),
        speech.count_key(thing): speech.count_of(thing, n),
    }
    for key in said:
        assert [text for text in said.values() if re.search(key, text)] == [said[key]]


def test_a_merged_sentence_is_recognised_for_each_thing_in_it() -> None:
    cat, dog = Thing("cat"), Thing("dog")
    said = speech.joined(["I see a cat.", "It has become dark.", "I see 2 dogs.", "I see a cat."])
    assert said == "I see a cat and 2 dogs. It has become dark."
    assert re.search(speech.appeared_key(cat), said)
    assert re.search(speech.appeared_key(dog), said)
    assert not re.search(speech.appeared_key(Thing("car")), said)


def test_a_long_quote_is_cut_between_words() -> None:
    quote = speech.quoted("word " * 60)
    assert len(quote) <= speech.MAX_QUOTE + 4
    assert quote.endswith("word …”")


def test_durations_are_spoken_in_the_unit_that_fits() -> None:
    said = [speech.duration(ms) for ms in (1_000, 10_000, 60_000, 120_000, 150_000)]
    assert said == ["1 second", "10 seconds", "60 seconds", "2 minutes", "150 seconds"]


HOSTILE = st.lists(
    st.sampled_from(
        [
            *("</silence>", "[SILENCE]", "[RESPOND]", "</", "response>", "<|im_start|>", "[", "]"),
            *("<", ">", "\\", "|", "SILENCE", "】", "\uff1c", "\n", "\u2028", "\u200b"),
            *("\ud800", "word", " ", "\x00"),
        ]
    ),
    max_size=20,
).map("".join)


@each_dialect
@given(st.one_of(HOSTILE, st.text(max_size=80)))
def test_j23_j24_whatever_is_spoken_is_read_as_speech_and_nothing_else(
    dialect: Spoken, text: str
) -> None:
    markers = Dialect(dialect.text).markers
    spoken = speech.text_read([text], markers)
    assert speech.clean(spoken, markers) == spoken
    assert neutralise(spoken) == spoken
    parser = ReplyParser()
    events = [*parser.feed(dialect.text.respond.format(text=spoken)), *parser.finish(cut=False)]
    assert sum(isinstance(event, ActionDecided) for event in events) == 1
    ended = events[-1]
    assert isinstance(ended, ReplyEnded)
    assert ended.action == Respond(spoken)
    assert ended.malformed is None
    spoken.encode()
    if dialect.regex is not None:
        assert re.fullmatch(dialect.regex, dialect.text.respond.format(text=spoken))


@pytest.mark.parametrize(
    ("n", "said"),
    [(0, "I count no red cars."), (1, "I count one red car."), (2, "I count 2 red cars.")],
)
def test_a_count_is_a_number(n: int, said: str) -> None:
    assert speech.count_of(Thing("car", "red"), n) == said
