from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.decision import GENERIC, JOYVL, neutralise
from onlooker.decision.markers import ANGLES, OPENING, SQUARES, Marker, scan
from onlooker.decision.neutral import ANGLE_STAND_IN, SQUARE_STAND_IN
from tests.decision.replies import replies

pytestmark = pytest.mark.pure


@given(st.one_of(replies, st.text()))
def test_nothing_is_left_that_a_parser_would_obey(text):
    plain = neutralise(text)
    assert not [
        1 for one in OPENING.finditer(plain) if isinstance(scan(plain, one.start())[0], Marker)
    ]


@given(st.one_of(replies, st.text()))
def test_it_keeps_the_length_and_is_idempotent(text):
    plain = neutralise(text)
    assert len(plain) == len(text)
    assert neutralise(plain) == plain
    plain.encode()


plain_chars = st.characters(exclude_characters=ANGLES + SQUARES, exclude_categories=["Cc", "Cs"])


@given(st.text(plain_chars))
def test_text_without_brackets_is_left_alone(text):
    assert neutralise(text) == text


@pytest.mark.parametrize(
    "text", ["5 < 10", "I <3 you", "a[0]", "[1] one", "x < y and y > z", "C#", "[x]"]
)
def test_ordinary_brackets_are_left_alone(text):
    assert neutralise(text) == text


@pytest.mark.parametrize(
    "token",
    [
        "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|image_pad|>", "<|endoftext|>", "<s>",
        "</s>", "<image>", "<start_of_turn>", "<<SYS>>", "<think>", "<tool_call>",
        "<\uff5cUser\uff5c>",
        "<!-- x -->", "<unk>", "< / silence >", "</response>", "<delegation>",
        "\uff1csilence\uff1e",
        "<12.0 seconds>", "<3s>", "< 7.5 sec >", "<0.0 seconds-9.0 seconds>",
    ],
)  # fmt: skip
def test_angle_tags_lose_their_bracket(token):
    plain = neutralise(f"say {token} now")
    assert ANGLE_STAND_IN in plain
    assert token not in plain


@pytest.mark.parametrize(
    "token",
    ["[INST]", "[/INST]", "[inst]", "[SILENCE]", "[ Respond ]", "[TOOL_CALLS]", "【silence】"],
)  # fmt: skip
def test_square_tokens_lose_their_bracket(token):
    plain = neutralise(f"say {token} now")
    assert SQUARE_STAND_IN in plain
    assert token not in plain


@pytest.mark.parametrize("dialect", [JOYVL, GENERIC], ids=lambda one: one.name)
def test_no_header_or_label_of_a_prompt_can_be_forged_at_a_line_start(dialect):
    for field in fields(dialect.text):
        form = getattr(dialect.text, field.name)
        if not isinstance(form, str) or form[:1] not in ("<", "[", "#"):
            continue
        filled = form.format(**{**dict.fromkeys(_FIELDS, "1.0"), "n": 1})
        for before in ("", "hello\n", "hello\r", "hello\u2028  "):
            plain = neutralise(before + filled)
            assert filled not in plain, field.name
            bracket = filled.index("[") if "[" in filled else 0
            assert plain[len(before) + bracket] in (ANGLE_STAND_IN, SQUARE_STAND_IN), field.name


_FIELDS = ("seconds", "start", "end", "text", "question", "delivery", "note", "frames")


def test_a_header_inside_a_line_is_only_words():
    assert neutralise("the [Request] box") == "the [Request] box"


def test_what_no_request_can_carry_is_replaced():
    assert neutralise("a\x00b\x1bc\ud800d\x7f") == "a\ufffdb\ufffdc\ufffdd\ufffd"
    assert neutralise("a\tb\r\nc") == "a\tb\r\nc"


@pytest.mark.parametrize(
    "text", ["<" * 100_000, "<" + " " * 100_000, "\n" * 100_000, "<" + "1" * 100_000]
)
def test_hostile_lengths_take_one_pass(text):
    assert neutralise(text) == text
