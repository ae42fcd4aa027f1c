"""What the eye has of each tick: its pictures, and how they differ from the ones before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from onlooker.bridges.model.embedded.language.intents import Thing
from onlooker.bridges.model.embedded.reading import Turn
from onlooker.bridges.model.embedded.sight.change import Change, compare
from onlooker.bridges.model.embedded.sight.objects import KEEP_FROM, Found
from onlooker.bridges.model.embedded.sight.store import Known

_STILL = Change(0.0, False)


@dataclass(frozen=True, slots=True)
class View:
    """One tick, seen. Without pictures every question about it has the answer None: unknown."""

    at_ms: int | None
    pictures: tuple[Known, ...]
    """Oldest first."""
    threshold: float
    """Score from which a thing counts as seen."""
    chain: tuple[Known, ...] = ()
    """The newest picture before the tick, if any, and the tick's own: what change is told by."""
    notice: str | None = None

    @property
    def change(self) -> Change | None:
        """The largest since the previous tick; None for the first picture of all. Worked out
        when asked: most queries do not ask."""
        changes = [
            _STILL if old is new else compare(old.glance, new.glance)
            for old, new in pairwise(self.chain)
        ]
        if not changes:
            return None
        return Change(max(c.moved for c in changes), any(c.cut for c in changes))

    @property
    def newest(self) -> Known | None:
        return self.pictures[-1] if self.pictures else None

    def count(self, thing: Thing, *, held: bool = False) -> int | None:
        """Most of these things in one picture of the tick; with ``held``, down to the score at
        which a thing that was seen still counts. None when nobody has looked."""
        least = min(KEEP_FROM, self.threshold) if held else self.threshold
        looked = [p.objects for p in self.pictures if p.objects is not None]
        if not looked:
            return None
        return max(sum(_matches(found, thing, least) for found in objects) for objects in looked)

    def things(self) -> dict[str, int] | None:
        """How many of each thing are in the newest picture that was looked at."""
        looked = [p.objects for p in self.pictures if p.objects is not None]
        if not looked:
            return None
        counts: dict[str, int] = {}
        for found in looked[-1]:
            if found.score >= self.threshold:
                counts[found.name] = counts.get(found.name, 0) + 1
        return counts

    def colours_of(self, thing: Thing) -> tuple[str, ...] | None:
        """Colours of the best such thing in the newest picture; None when there is none."""
        newest = self.newest
        for found in (newest.objects or ()) if newest else ():
            if _matches(found, thing, self.threshold):
                return found.colours
        return None

    @property
    def luma(self) -> float | None:
        return self.newest.glance.luma if self.newest else None

    @property
    def colours(self) -> dict[str, float] | None:
        return self.newest.glance.colours if self.newest else None

    @property
    def texts(self) -> tuple[str, ...] | None:
        return next((p.texts for p in reversed(self.pictures) if p.texts is not None), None)

    @property
    def codes(self) -> tuple[str, ...] | None:
        return next((p.codes for p in reversed(self.pictures) if p.codes is not None), None)


def _matches(found: Found, thing: Thing, least: float) -> bool:
    if found.name != thing.name or found.score < least:
        return False
    return thing.colour is None or thing.colour in found.colours


def views_of(turns: Sequence[Turn], admitted: Mapping[str, Known], threshold: float) -> list[View]:
    """One view per turn. A turn that says *unchanged* shows the pictures before it again."""
    views: list[View] = []
    before: Known | None = None
    shown: tuple[Known, ...] = ()
    for turn in turns:
        pictures = tuple(admitted[picture.key] for picture in turn.pictures)
        if not pictures and turn.notice == "unchanged":
            pictures = shown
            chain = shown[-1:] * 2
        else:
            chain = (before, *pictures) if before is not None else pictures
        if pictures:
            shown, before = pictures, pictures[-1]
        views.append(View(turn.at_ms, pictures, threshold, chain if pictures else (), turn.notice))
    return views
