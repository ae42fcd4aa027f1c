from __future__ import annotations

import re
from dataclasses import fields

import pytest

from onlooker.decision import GENERIC, JOYVL

pytestmark = pytest.mark.pure


def test_c32_its_markers_are_plain_words_that_no_tokenizer_strips():
    for form in (GENERIC.text.silence, GENERIC.text.respond, GENERIC.text.delegate):
        assert "<" not in form
        assert re.match(r"\[[A-Z]+\]", form)
    assert GENERIC.tick_sampling.skip_special_tokens is False


def test_it_says_everything_in_the_tail():
    text = GENERIC.text
    assert text.has_text_only_ticks
    assert not text.cancel_is_boundary
    assert text.max_instructions > 1
    assert GENERIC.default_frames == 30


def test_c20_the_states_of_the_camera_are_three_different_texts():
    for dialect in (GENERIC, JOYVL):
        states = {dialect.text.no_video, dialect.text.camera_off, dialect.text.unchanged}
        assert len(states) == 3


@pytest.mark.parametrize("dialect", [GENERIC, JOYVL], ids=lambda one: one.name)
def test_every_form_can_be_filled_with_the_documented_fields(dialect):
    values = dict.fromkeys(
        ("seconds", "start", "end", "n", "text", "question", "delivery", "note", "frames"), "x"
    )
    for field in fields(dialect.text):
        form = getattr(dialect.text, field.name)
        if isinstance(form, str):
            assert "{" not in form.format(**values)
