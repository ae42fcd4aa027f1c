"""Where streaming text is cut into clauses, by example."""

from __future__ import annotations

import pytest

from onlooker.orchestrator.clauses import Clause, ClauseConfig, ClauseSegmenter, is_wide

pytestmark = pytest.mark.pure


def clauses(text: str, config: ClauseConfig | None = None) -> list[str]:
    segmenter = ClauseSegmenter(config)
    return [clause.text for clause in (*segmenter.feed(text), *segmenter.finish())]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        ("   \n ", []),
        ("Hello", ["Hello"]),
        ("  Hello. ", ["  Hello. "]),
        ("One. Two! Three? Four", ["One. ", "Two! ", "Three? ", "Four"]),
        ("Really?! Yes.", ["Really?! ", "Yes."]),
        ("Well... I see.", ["Well... ", "I see."]),
        ('He said "stop." Then he left.', ['He said "stop." ', "Then he left."]),
        ("**Look.** It moved.", ["**Look.** ", "It moved."]),
        ("No. It is not.", ["No. ", "It is not."]),
        ("It is so. Good.", ["It is so. ", "Good."]),
        ("Wait.\n\nNow go.", ["Wait.\n\n", "Now go."]),
        ("first line\nsecond line", ["first line\n", "second line"]),
    ],
)
def test_a_sentence_is_a_clause(text: str, wanted: list[str]) -> None:
    assert clauses(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "It is 3.5 metres.",
        "About 1,000 of them.",
        "Dr. Smith and Mrs. Jones agree.",
        "See No. 5 and fig. 2 there.",
        "Fruit, e.g. apples.",
        "The U.S. Army band.",
        "J. Smith waves.",
        "Cups, plates etc. are dirty.",
        "Open https://example.com/a.b?c=d,e!f now.",
        "It starts at 10:30 sharp.",
        "(cf. the sign) is gone.",
        "1. Open the door",
        "... well",
        "C# and snake_case stay.",
    ],
)
def test_numbers_abbreviations_and_addresses_are_not_cut(text: str) -> None:
    assert clauses(text) == [text]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("It shut at 5 p.m. The lights went out.", ["It shut at 5 p.m. ", "The lights went out."]),
        ("Cups, plates etc. The rest is clean.", ["Cups, plates etc. ", "The rest is clean."]),
        ("She is here. no. 5 is free.", ["She is here. ", "no. 5 is free."]),
        ('A "No." She left.', ['A "No." ', "She left."]),
    ],
)
def test_an_abbreviation_may_end_a_sentence(text: str, wanted: list[str]) -> None:
    assert clauses(text) == wanted


def test_a_comma_ends_the_first_clause_early_and_later_ones_late() -> None:
    text = "A man comes in, he wears a hat, and he looks at the clock, twice."
    assert clauses(text) == ["A man comes in, ", text[16:]]


def test_a_first_clause_of_one_word_is_too_short_for_a_comma() -> None:
    assert clauses("Yes, I see a cat, it is asleep.") == ["Yes, I see a cat, ", "it is asleep."]


def test_a_long_later_clause_ends_at_its_comma() -> None:
    long = "Then the second man walks all the way around the table to the window, "
    assert clauses(f"Look. {long}and sits.") == ["Look. ", long, "and sits."]


def test_a_clause_without_marks_is_cut_between_words() -> None:
    config = ClauseConfig(first_soft=4, soft=8, first_limit=12, limit=20)
    got = clauses("one two three four five six seven eight nine ten", config)
    assert got == ["one two three ", "four five six seven ", "eight nine ten"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("你好。再见。", ["你好。", "再见。"]),
        ("「好的。」他说。", ["「好的。」", "他说。"]),
        ("真的？！是的", ["真的？！", "是的"]),  # noqa: RUF001
        ("猫在睡觉，狗在看门。", ["猫在睡觉，", "狗在看门。"]),  # noqa: RUF001
        ("共有1，000个人在这里，对。", ["共有1，000个人在这里，", "对。"]),  # noqa: RUF001
        ("好. 再见", ["好. ", "再见"]),
    ],
)
def test_wide_scripts_have_their_own_marks(text: str, wanted: list[str]) -> None:
    assert clauses(text) == wanted


def test_wide_text_without_marks_is_cut_between_characters() -> None:
    config = ClauseConfig(first_soft=6, soft=12, first_limit=12, limit=18)
    assert clauses("一二三四五六七八九十一二", config) == ["一二三四", "五六七八九十", "一二"]


def test_the_first_clause_is_out_before_the_text_ends() -> None:
    segmenter = ClauseSegmenter()
    assert segmenter.feed("The door") == ()
    assert segmenter.feed(" opens.") == ()
    assert segmenter.feed(" A") == (Clause("The door opens. ", 0, 16),)
    assert segmenter.feed(" man") == ()
    assert segmenter.finish() == (Clause("A man", 16, 21),)


@pytest.mark.parametrize("char", ["ぁ", "ヿ", "㐀", "䶿", "一", "鿿", "豈", "𠀀"])
def test_characters_of_scripts_without_blanks_are_wide(char: str) -> None:
    assert is_wide(char)


@pytest.mark.parametrize("char", ["a", "é", "д", "。", "한", "1", " "])
def test_other_characters_are_not(char: str) -> None:
    assert not is_wide(char)
