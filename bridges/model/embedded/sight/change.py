"""What changed from one picture to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2

from onlooker.bridges.model.embedded.sight.picture import Glance

_DIFFERENT: Final = 18
"""Grey levels; above camera noise and the artefacts of JPEG."""
_MOVING_FROM: Final = 0.006
"""Share of the thumbnail that must differ: about 30 of its 5,184 points."""
_CUT_FROM: Final = 0.6
_CUT_DISTANCE: Final = 0.25
"""Bhattacharyya distance of the colour histograms; measured cuts have 0.27 to 0.66."""


@dataclass(frozen=True, slots=True)
class Change:
    moved: float
    """Share of the picture that differs, 0 to 1."""
    cut: bool
    """The scene is another one."""

    @property
    def is_moving(self) -> bool:
        return self.moved >= _MOVING_FROM


def compare(before: Glance, after: Glance) -> Change:
    """The change from ``before`` to ``after``; a change of size is a cut."""
    if (before.width, before.height) != (after.width, after.height):
        return Change(1.0, True)
    difference = cv2.absdiff(before.grey, after.grey)
    moved = float((difference > _DIFFERENT).mean())
    if moved < _CUT_FROM:
        return Change(moved, False)
    distance = cv2.compareHist(before.histogram, after.histogram, cv2.HISTCMP_BHATTACHARYYA)
    return Change(moved, distance >= _CUT_DISTANCE)
