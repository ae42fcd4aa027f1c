"""What was seen over a stretch of time, as a value that can be written down and read back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from onlooker.bridges.model.embedded import speech

MAX_NAMES: Final = 12
MAX_TEXTS: Final = 8
MAX_CUTS: Final = 12


@dataclass(slots=True)
class Stay:
    """A thing in view: from when to when, and how many of it at most."""

    first_ms: int
    last_ms: int
    most: int


@dataclass(slots=True)
class Record:
    """Everything the eye can state about a stretch. :meth:`write` and :meth:`read` are inverse
    up to the bounds above."""

    start_ms: int
    end_ms: int
    pictures: int = 0
    looked: int = 0
    """Pictures in which things were looked for."""
    moving: int = 0
    """Pictures that showed movement."""
    stays: dict[str, Stay] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    darkest: int = 255
    brightest: int = 0
    colours: list[str] = field(default_factory=list)
    cuts_ms: list[int] = field(default_factory=list)
    at_end: list[str] = field(default_factory=list)
    """Names of the things in the last picture that was looked at."""

    def add_things(self, at_ms: int, things: dict[str, int]) -> None:
        self.looked += 1
        self.at_end = list(things)
        for name, n in things.items():
            stay = self.stays.setdefault(name, Stay(at_ms, at_ms, n))
            stay.last_ms, stay.most = max(stay.last_ms, at_ms), max(stay.most, n)

    def write(self) -> str:
        """The record as short factual sentences."""
        return " ".join(sentence for sentence in self._sentences() if sentence)

    def _sentences(self) -> Iterable[str]:
        yield f"Seen from {_s(self.start_ms)} to {_s(self.end_ms)} in {self.pictures} pictures:"
        stays = sorted(self.stays.items(), key=lambda item: -item[1].most)[:MAX_NAMES]
        things = "; ".join(
            f"{name} from {_s(s.first_ms)} to {_s(s.last_ms)}, at most {s.most}"
            for name, s in stays
        )
        yield f"{things or 'nothing I can name'}."
        yield f"Looked for things in {self.looked} pictures."
        yield _quotes("Text in view", self.texts)
        yield _quotes("QR codes", self.codes)
        if self.pictures:
            yield f"Brightness {self.darkest} to {self.brightest} of 255."
        yield f"Main colours: {', '.join(self.colours)}." if self.colours else ""
        yield f"Movement in {self.moving} pictures."
        cuts = ", ".join(_s(ms) for ms in self.cuts_ms[:MAX_CUTS])
        yield f"Scene changes at {cuts}." if cuts else ""
        if self.looked:
            yield f"In view at the end: {', '.join(self.at_end) or 'nothing'}."

    @classmethod
    def read(cls, text: str) -> Record | None:
        """A record that :meth:`write` wrote, found anywhere in ``text``; else None."""
        found = _OPENING.search(text)
        if found is None:
            return None
        record = cls(_ms(found["start"]), _ms(found["end"]), int(found["n"]))
        text = text[found.start() :]
        for stay in _STAY.finditer(found["things"]):
            record.stays[stay[1]] = Stay(_ms(stay[2]), _ms(stay[3]), int(stay[4]))
        record.looked = _number(r"Looked for things in (\d+) pictures", text)
        record.moving = _number(r"Movement in (\d+) pictures", text)
        record.texts = _read_quotes("Text in view", text)
        record.codes = _read_quotes("QR codes", text)
        if light := re.search(r"Brightness (\d+) to (\d+) of 255", text):
            record.darkest, record.brightest = int(light[1]), int(light[2])
        record.colours = _names(r"Main colours: ([^.]*)\.", text)
        record.cuts_ms = [_ms(s) for s in _names(r"Scene changes at ([\d., s]+)\.(?:\s|$)", text)]
        at_end = _names(r"In view at the end: ([^.]*)\.", text)
        record.at_end = [name for name in at_end if name != "nothing"]
        return record


@dataclass(frozen=True, slots=True)
class Before:
    """How a thing stood when the pictures of the prompt begin."""

    in_view: bool = False
    off_since_ms: int | None = None
    """Last seen then; None when in view, or when nothing is known."""
    end_ms: int = 0
    """Until when this is known."""


def before(history: str, name: str) -> Before:
    """What the newest record in ``history`` says of the things called ``name``."""
    record = Record.read(history[max(history.rfind(_BEGINNING), 0) :])
    if record is None or not record.looked:
        return Before()
    if name in record.at_end:
        return Before(in_view=True, end_ms=record.end_ms)
    stay = record.stays.get(name)
    return Before(False, stay.last_ms if stay else record.start_ms, record.end_ms)


_BEGINNING: Final = "Seen from "
_TIME: Final = r"(\d+\.\d) s"
_OPENING: Final = re.compile(
    rf"Seen from (?P<start>{_TIME}) to (?P<end>{_TIME}) in (?P<n>\d+) pictures: "
    r"(?P<things>.*?)\.(?= Looked for)",
    re.DOTALL,
)
_STAY: Final = re.compile(rf"([a-z][a-z ]*?) from {_TIME} to {_TIME}, at most (\d+)")


def merge(records: Sequence[Record]) -> Record:
    """One record of the whole stretch; ``records`` in order of time, not empty."""
    whole = Record(min(r.start_ms for r in records), max(r.end_ms for r in records))
    for record in records:
        whole.pictures += record.pictures
        whole.looked += record.looked
        whole.moving += record.moving
        whole.darkest = min(whole.darkest, record.darkest)
        whole.brightest = max(whole.brightest, record.brightest)
        whole.cuts_ms += record.cuts_ms
        whole.at_end = record.at_end if record.looked else whole.at_end
        for name, stay in record.stays.items():
            known = whole.stays.setdefault(name, Stay(stay.first_ms, stay.last_ms, stay.most))
            known.first_ms = min(known.first_ms, stay.first_ms)
            known.last_ms = max(known.last_ms, stay.last_ms)
            known.most = max(known.most, stay.most)
        for mine, theirs in ((whole.texts, record.texts), (whole.codes, record.codes)):
            mine += [text for text in theirs if text not in mine]
        whole.colours += [c for c in record.colours if c not in whole.colours]
    return whole


def _s(ms: int) -> str:
    return f"{ms / 1000:.1f} s"


def _ms(text: str) -> int:
    return round(float(text.removesuffix(" s")) * 1000)


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


def _names(pattern: str, text: str) -> list[str]:
    found = re.search(pattern, text)
    return [name.strip() for name in found[1].split(",") if name.strip()] if found else []


def _quotes(title: str, texts: Sequence[str]) -> str:
    return f"{title}: {', '.join(speech.quoted(t) for t in texts[:MAX_TEXTS])}." if texts else ""


def _read_quotes(title: str, text: str) -> list[str]:
    found = re.search(rf"{title}: ((?:“[^”]*”(?:, )?)+)\.", text)
    return re.findall(r"“([^”]*)”", found[1]) if found else []
