"""Names for the colours in a picture."""

from __future__ import annotations

from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

_HUES: Final = (
    (8, "red"), (21, "orange"), (34, "yellow"), (81, "green"), (98, "cyan"),
    (129, "blue"), (151, "purple"), (172, "pink"), (180, "red"),
)  # fmt: skip
"""Upper end of each hue band, in OpenCV's half degrees."""
_NAMES: Final = ("black", "white", "grey", "brown", *dict.fromkeys(name for _, name in _HUES))
_BLACK_BELOW: Final = 48
_PALE_BELOW: Final = 60
"""Saturation under which a pixel has no hue worth naming."""
_WHITE_FROM: Final = 195


def colour_shares(image: NDArray[Any]) -> dict[str, float]:
    """Share of each colour (0 to 1) in a BGR picture, largest first; absent colours left out."""
    hsv = cv2.cvtColor(image, cv2.COLOR_BGR2HSV).reshape(-1, 3)
    hue, saturation, value = hsv[:, 0], hsv[:, 1], hsv[:, 2]
    codes = np.array([_NAMES.index(name) for _, name in _HUES], np.uint8)
    named = codes[np.searchsorted([end for end, _ in _HUES], hue, side="right")]
    named[(hue >= 5) & (hue < 21) & (value < 150)] = _NAMES.index("brown")
    pale = saturation < _PALE_BELOW
    named[pale] = _NAMES.index("grey")
    named[pale & (value >= _WHITE_FROM)] = _NAMES.index("white")
    named[value < _BLACK_BELOW] = _NAMES.index("black")
    counts = np.bincount(named, minlength=len(_NAMES)) / max(len(named), 1)
    order = np.argsort(-counts, kind="stable")
    return {_NAMES[i]: float(counts[i]) for i in order if counts[i] > 0}
