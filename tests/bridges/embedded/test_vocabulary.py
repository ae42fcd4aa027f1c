"""Names of things in any number, durations, counts."""

from __future__ import annotations

import pytest

from onlooker.bridges.model.embedded.language.vocabulary import (
    COCO_LABELS,
    colour,
    counted,
    duration_ms,
    number,
    plural,
    thing,
)

pytestmark = pytest.mark.pure


def test_every_class_is_known_by_its_name_and_its_plural() -> None:
    assert len(COCO_LABELS) == len(set(COCO_LABELS.values())) == 80
    for name in COCO_LABELS.values():
        assert thing(name) == name
        assert thing(plural(name)) == name


@pytest.mark.parametrize(
    ("words", "name"),
    [("people", "person"), ("men", "person"), ("bikes", "bicycle"), ("lorries", "truck"),
     ("knives", "knife"), ("mobile phones", "cell phone"), ("unicorn", None), ("", None)],
)  # fmt: skip
def test_other_words_for_things(words: str, name: str | None) -> None:
    assert thing(words) == name


@pytest.mark.parametrize(
    ("text", "ms"),
    [("10 seconds", 10_000), ("1.5 minutes", 90_000), ("two minutes", 120_000),
     ("an hour", 3_600_000), ("half an hour", 1_800_000), ("30s", 30_000),
     ("5 min", 300_000), ("seconds", None),
     ("ten parsecs", None), ("half a two minutes", None)],
)  # fmt: skip
def test_durations(text: str, ms: int | None) -> None:
    assert duration_ms(text) == ms


def test_numbers_and_colours() -> None:
    assert number("12") == 12
    assert number("three") == 3
    assert number("²") is None
    assert colour("gray") == "grey"
    assert colour("loud") is None


def test_counts_are_spoken_in_english() -> None:
    said = [
        counted(n, name) for n, name in ((0, "person"), (1, "umbrella"), (2, "bus"), (1, "skis"))
    ]
    assert said == ["no people", "an umbrella", "2 buses", "skis"]
