"""Text in view: RapidOCR, from the ``[eye]`` extra. About half a second a picture."""

from __future__ import annotations

import importlib.util
import threading
from functools import lru_cache
from typing import Any, Final, Protocol

from onlooker.bridges.model.embedded.sight.picture import Image

_SURE_FROM: Final = 0.6


class TextReader(Protocol):
    def read(self, image: Image) -> tuple[str, ...]:
        """Lines of text, from the top down. May be called from any thread."""
        ...


def text_installed() -> bool:
    return all(importlib.util.find_spec(name) for name in ("rapidocr", "onnxruntime"))


class RapidReader:
    """Loads its models on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engine: Any = None

    def read(self, image: Image) -> tuple[str, ...]:
        with self._lock:
            if self._engine is None:
                # Imported late: it loads a runtime of 100 MB that few queries need.
                from rapidocr import RapidOCR

                self._engine = RapidOCR(params={"Global.log_level": "error"})
            result = self._engine(image)
        texts, scores = result.txts or (), result.scores or ()
        return tuple(t for t, s in zip(texts, scores, strict=True) if s >= _SURE_FROM and t.strip())


@lru_cache(maxsize=1)
def shared_reader() -> RapidReader:
    """One reader for the whole process; its models are immutable."""
    return RapidReader()
