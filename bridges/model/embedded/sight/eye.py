"""The eye itself: admits the pictures of a request and looks at them as closely as asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from onlooker.bridges.model.embedded.sight.codes import read_codes
from onlooker.bridges.model.embedded.sight.objects import (
    DEFAULT_THRESHOLD,
    ObjectFinder,
    objects_installed,
    shared_finder,
)
from onlooker.bridges.model.embedded.sight.picture import Image, Picture, decode, glance
from onlooker.bridges.model.embedded.sight.store import Known, PictureStore
from onlooker.bridges.model.embedded.sight.text import TextReader, shared_reader, text_installed


class CacheMiss(Exception):
    """A picture came by reference and is not known; the message is in the words of vLLM."""

    def __init__(self, index: int) -> None:
        super().__init__(f"Cache miss for image at index {index} but data is not provided.")
        self.index = index


class Closer(StrEnum):
    """Looks that cost more than a glance, and are taken only when a query needs them."""

    OBJECTS = "objects"
    TEXT = "texts"
    CODES = "codes"


_BUDGET: Final = {Closer.OBJECTS: 6, Closer.TEXT: 1, Closer.CODES: 12}
"""Closer looks in one request, newest pictures first, so that no tick takes seconds."""


class Sight:
    """Looks at pictures and remembers, by content, what it saw. Used from worker threads.

    Call :meth:`admit` with all pictures of a request first; afterwards :meth:`known` answers for
    each of them without raising, as long as fewer pictures than the store holds were admitted.
    """

    def __init__(
        self,
        *,
        finder: ObjectFinder | None = None,
        reader: TextReader | None = None,
        threshold: float = DEFAULT_THRESHOLD,
        store: PictureStore | None = None,
    ) -> None:
        self.threshold = threshold
        self.decoded = 0
        """Pictures decoded so far: each once, and again for a late closer look."""
        self._finder = finder
        self._reader = reader
        self._store = store if store is not None else PictureStore()
        self._last: tuple[bytes, Image] | None = None

    @classmethod
    def installed(cls, threshold: float = DEFAULT_THRESHOLD) -> Sight:
        """With whatever parts of the ``[eye]`` extra this environment has."""
        return cls(
            finder=shared_finder() if objects_installed() else None,
            reader=shared_reader() if text_installed() else None,
            threshold=threshold,
        )

    @property
    def has_objects(self) -> bool:
        return self._finder is not None

    @property
    def has_text(self) -> bool:
        return self._reader is not None

    def admit(self, pictures: Iterable[Picture]) -> dict[str, Known]:
        """Takes in pictures not yet known; raises ``CacheMiss`` or ``UnreadablePicture``."""
        admitted: dict[str, Known] = {}
        for picture in pictures:
            known = admitted.get(picture.key) or self._store.get(picture.key)
            if known is None:
                data = picture.bytes()
                if data is None:
                    raise CacheMiss(picture.index)
                known = Known(glance(self._decode(data)), data)
                self._store.put(picture.key, known)
            admitted[picture.key] = known
        return admitted

    def look_closer(
        self,
        pictures: Sequence[Picture],
        kind: Closer,
        admitted: Mapping[str, Known],
        *,
        budget: int | None = None,
    ) -> None:
        """Looks at the newest (last) of ``pictures`` for ``kind``, within the request's budget.

        Raises ``CacheMiss`` when the very newest is only a reference whose bytes are gone; older
        ones stay unlooked at.
        """
        look = self._looks()[kind]
        budget = _BUDGET[kind] if budget is None else budget
        for age, picture in enumerate(reversed(pictures)):
            known = admitted[picture.key]
            if look is None or budget == 0:
                return
            if getattr(known, kind) is not None:
                continue
            data = known.data or picture.bytes()
            if data is not None:
                setattr(known, kind, look(self._decode(data)))
                budget -= 1
            elif age == 0:
                raise CacheMiss(picture.index)

    def _looks(self) -> dict[Closer, Callable[[Image], object] | None]:
        return {
            Closer.OBJECTS: self._finder.find if self._finder else None,
            Closer.TEXT: self._reader.read if self._reader else None,
            Closer.CODES: read_codes,
        }

    def _decode(self, data: bytes) -> Image:
        """The newest picture is glanced at and looked at closely in one request: decoded once."""
        last = self._last
        if last is not None and last[0] is data:
            return last[1]
        self.decoded += 1
        image = decode(data)
        self._last = (data, image)
        return image
