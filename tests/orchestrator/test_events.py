"""The closed union of ``events.py``: complete, frozen, of plain values."""

from __future__ import annotations

import dataclasses
import inspect
from typing import get_args

import pytest

from onlooker.orchestrator import events

pytestmark = pytest.mark.pure

UNION = events.Event


def test_the_union_names_every_class_of_the_module_and_each_is_frozen_and_slotted() -> None:
    defined = {
        one
        for _, one in inspect.getmembers(events, dataclasses.is_dataclass)
        if one.__module__ == events.__name__
    }
    assert set(get_args(UNION)) == defined
    for one in defined:
        assert vars(one)["__dataclass_params__"].frozen
        assert "__slots__" in vars(one), one
