"""The shared values: frozen, hashable, and complete."""

from __future__ import annotations

import dataclasses

import pytest

from onlooker import types
from onlooker.types import DATA_URL_OPEN, FrameRef, FrameUuid, Lifetime, LifetimeKind, Ms

pytestmark = pytest.mark.pure

VALUES = [
    value
    for name in types.__all__
    if isinstance(value := getattr(types, name), type) and dataclasses.is_dataclass(value)
]


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_values_are_frozen_and_slotted(kind: type) -> None:
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert hasattr(kind, "__slots__")


def test_a_frame_is_known_by_all_of_its_fields() -> None:
    frame = FrameRef(FrameUuid("ab"), Ms(40), 64, 48, 900)
    assert frame == FrameRef(FrameUuid("ab"), Ms(40), 64, 48, 900)
    assert len({frame, dataclasses.replace(frame, capture_ms=Ms(80))}) == 2
    assert frame.media_type == "image/jpeg"


def test_a_request_stands_until_it_is_cancelled_unless_it_says_otherwise() -> None:
    assert Lifetime() == Lifetime(LifetimeKind.CANCELLED, None)


def test_the_start_of_a_data_url_is_json() -> None:
    assert DATA_URL_OPEN + b'image/jpeg;base64,AAAA"}' == b'{"url":"data:image/jpeg;base64,AAAA"}'
