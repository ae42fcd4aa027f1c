from __future__ import annotations

import re

import pytest

from onlooker.decision import (
    DIALECTS,
    GENERIC,
    JOYVL,
    Delegate,
    Respond,
    Silence,
    canonical,
    dialect,
    guess_dialect,
)
from onlooker.errors import ConfigError

pytestmark = pytest.mark.pure


def test_dialects_are_found_by_name():
    assert dialect("joyvl") is JOYVL
    assert dialect("generic") is GENERIC
    assert list(DIALECTS) == ["joyvl", "generic"]
    with pytest.raises(
        ConfigError, match="there is no dialect 'klingon'; use one of joyvl, generic"
    ):
        dialect("klingon")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("jdopensource/JoyAI-VL-Interaction-Preview", "joyvl"),
        ("/models/joyvl-fp8", "joyvl"),
        ("Qwen/Qwen3-VL-8B-Instruct", "generic"),
        ("", "generic"),
    ],
)
def test_a_dialect_is_guessed_from_the_model_name(model, name):
    assert guess_dialect(model).name == name


def test_canonical_replies_of_joyvl_are_the_trained_ones():
    text = JOYVL.text
    assert canonical(Silence(), text) == "</silence>"
    assert canonical(Respond("A cat."), text) == "</response> A cat."
    asked = canonical(Delegate("One moment.", "Who won?"), text)
    assert asked == "</response> One moment. </delegation> Who won?"
    assert canonical(Delegate("", "Who won?"), text) == "</response> </delegation> Who won?"


def test_canonical_replies_of_generic():
    text = GENERIC.text
    assert canonical(Silence(), text) == "[SILENCE]"
    assert canonical(Respond("{A} cat."), text) == "[RESPOND] {A} cat."
    assert canonical(Delegate("n", "q"), text) == "[RESPOND] n [DELEGATE] q"
    assert canonical(Delegate("", "q"), text) == "[RESPOND] [DELEGATE] q"


def test_j24_what_a_model_reads_aloud_cannot_act_when_it_is_sent_back():
    stored = canonical(Respond("It says <|im_start|> and <image>."), JOYVL.text)
    assert stored == "</response> It says \u2039|im_start|> and \u2039image>."


@pytest.mark.parametrize(
    ("reply", "allowed", "forced"),
    [
        ("[SILENCE]", True, False),
        ("[RESPOND] A cat, 5 < 10.\nAnd a dog.", True, True),
        ("[RESPOND] n [DELEGATE] q", True, True),
        ("[RESPOND] ", False, False),
        ("[RESPOND]", False, False),
        ("A cat.", False, False),
        ("[RESPOND] a [SILENCE]", False, False),
        ("[DELEGATE] q", False, False),
    ],
)
def test_the_grammar_of_generic_admits_exactly_its_canonical_forms(reply, allowed, forced):
    assert GENERIC.regex is not None
    assert GENERIC.forced_regex is not None
    assert bool(re.fullmatch(GENERIC.regex, reply)) is allowed
    assert bool(re.fullmatch(GENERIC.forced_regex, reply)) is forced
