from __future__ import annotations

import pytest

from onlooker.decision.markers import MAX_TAG_CHARS, Marker, Scan, scan

pytestmark = pytest.mark.pure


def whole(text: str) -> Marker | Scan:
    """What stands at the beginning of ``text``; a marker must take all of it."""
    found, end = scan(text, 0)
    assert end == (len(text) if isinstance(found, Marker) else 0)
    return found


@pytest.mark.parametrize(
    ("spelling", "meaning"),
    [
        ("</silence>", Marker.SILENCE),
        ("<silence>", Marker.SILENCE),
        ("<silence/>", Marker.SILENCE),
        ("</Silence >", Marker.SILENCE),
        ("< / SILENCE >", Marker.SILENCE),
        ("[SILENCE]", Marker.SILENCE),
        ("[silent]", Marker.SILENCE),
        ("［silence］", Marker.SILENCE),  # noqa: RUF001
        ("【silence】", Marker.SILENCE),
        ("＜／silence＞", Marker.SILENCE),  # noqa: RUF001
        ("</response>", Marker.RESPOND),
        ("<response>", Marker.RESPOND),
        ("[RESPOND]", Marker.RESPOND),
        ("[Response]", Marker.RESPOND),
        ("</delegation>", Marker.DELEGATE),
        ("<delegation>", Marker.DELEGATE),
        ("</delegate>", Marker.DELEGATE),
        ("[DELEGATE]", Marker.DELEGATE),
        ("<|background_call|>", Marker.DELEGATE),
        ("<think>", Marker.THINK_OPEN),
        ("</think>", Marker.THINK_CLOSE),
        ("</thinking>", Marker.THINK_CLOSE),
        ("<|im_end|>", Marker.CONTROL),
        ("<|vision_start|>", Marker.CONTROL),
        ("<｜end▁of▁sentence｜>", Marker.CONTROL),  # noqa: RUF001
        ("<s>", Marker.CONTROL),
        ("</s>", Marker.CONTROL),
        ("<end_of_turn>", Marker.CONTROL),
        ("[INST]", Marker.CONTROL),
        ("[/INST]", Marker.CONTROL),
    ],
)
def test_every_spelling_is_known_and_pending_until_it_is_whole(spelling, meaning):
    assert whole(spelling) is meaning
    for end in range(1, len(spelling)):
        assert whole(spelling[:end]) is Scan.PENDING, spelling[:end]


@pytest.mark.parametrize(
    "text",
    [
        "<3", "< 5", "<div>", "<b>", "<-", "<<", "[1]", "[x]", "[0", "< s >", "[s]", "[think]",
        "<inst>", "</silence]", "[silence>", "<sil ence>", "<silence x>", "<||>", "<|a<|", "[|a|]",
        "<silences>", "<|a b", "<|a]|>",
    ],
)  # fmt: skip
def test_ordinary_brackets_are_text(text):
    if text == "<|a b":
        assert scan(text, 0)[0] is Scan.PENDING
        text += "!"
    assert scan(text, 0) == (Scan.TEXT, 0)


def test_a_tag_padded_without_end_is_text_and_never_held_for_long():
    blanks = " " * (MAX_TAG_CHARS - len("<silence>"))
    assert whole(f"<{blanks}silence>") is Marker.SILENCE
    assert whole(f"<{blanks} silence>") is Scan.TEXT
    assert whole("<" + " " * (MAX_TAG_CHARS - 2)) is Scan.PENDING
    assert whole("<" + " " * (MAX_TAG_CHARS - 1)) is Scan.TEXT


def test_the_tag_may_stand_anywhere():
    assert scan("hi </silence> you", 3) == (Marker.SILENCE, 13)
