from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from onlooker.decision import GENERIC, JOYVL

pytestmark = pytest.mark.pure


def test_a_dialect_cannot_change_under_a_session():
    with pytest.raises(FrozenInstanceError):
        GENERIC.name = "other"  # type: ignore[misc]


def test_names_agree_and_sampling_holds_no_grammar_of_its_own():
    for one in (GENERIC, JOYVL):
        assert one.name == one.text.name
        assert one.tick_sampling.regex is None
