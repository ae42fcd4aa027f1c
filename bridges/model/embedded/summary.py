"""Factual summaries: of the pictures of a chunk, or of several summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from onlooker.bridges.model.embedded import speech
from onlooker.bridges.model.embedded.dialect import Dialect, Template
from onlooker.bridges.model.embedded.errands import main_colours
from onlooker.bridges.model.embedded.reading import Reading
from onlooker.bridges.model.embedded.record import Record, merge
from onlooker.bridges.model.embedded.sight import Picture, Sight
from onlooker.bridges.model.embedded.sight.change import compare
from onlooker.bridges.model.embedded.sight.eye import Closer
from onlooker.bridges.model.embedded.sight.store import Known
from onlooker.bridges.model.embedded.views import View

NOTHING_SEEN: Final = "Nothing was seen: there were no pictures."
_SAMPLE: Final = 8
"""Pictures of a chunk that are looked at closely for its summary, if nobody did before."""
_MAX_FOREIGN: Final = 240
"""Characters kept of a summary that the eye did not write."""


def summarise(
    reading: Reading, admitted: Mapping[str, Known], sight: Sight, dialect: Dialect
) -> str:
    """The summary that the prompt asks for, as plain text without any marker."""
    if reading.summary == "block":
        text = _merge(reading, dialect)
    else:
        text = _chunk(reading, admitted, sight)
    return speech.clean(text, dialect.markers)


def _chunk(reading: Reading, admitted: Mapping[str, Known], sight: Sight) -> str:
    shown = [
        (picture, at_ms if at_ms is not None else 0)
        for turn in reading.turns
        for picture, at_ms in zip(turn.pictures, turn.times, strict=True)
    ]
    if not shown:
        return NOTHING_SEEN
    pictures = [picture for picture, _ in shown]
    if sight.has_objects:
        sight.look_closer(_sample(pictures), Closer.OBJECTS, admitted, budget=_SAMPLE)
    return _record(shown, admitted, sight.threshold).write()


def _sample(pictures: Sequence[Picture]) -> list[Picture]:
    """Evenly spread, with the last one among them."""
    step = max(len(pictures) / _SAMPLE, 1.0)
    places = {len(pictures) - 1 - int(i * step) for i in range(min(_SAMPLE, len(pictures)))}
    return [pictures[place] for place in sorted(places)]


def _record(
    shown: Sequence[tuple[Picture, int]], admitted: Mapping[str, Known], threshold: float
) -> Record:
    record = Record(shown[0][1], shown[-1][1])
    before: Known | None = None
    for picture, at_ms in shown:
        known = admitted[picture.key]
        _add(record, known, before, at_ms, threshold)
        before = known
    return record


def _add(record: Record, known: Known, before: Known | None, at_ms: int, threshold: float) -> None:
    view = View(at_ms, (known,), threshold)
    record.pictures += 1
    luma = round(known.glance.luma)
    record.darkest, record.brightest = min(record.darkest, luma), max(record.brightest, luma)
    record.colours += [c for c in main_colours(view)[:2] if c not in record.colours]
    if (things := view.things()) is not None:
        record.add_things(at_ms, things)
    for mine, seen in ((record.texts, known.texts), (record.codes, known.codes)):
        mine += [text for text in seen or () if text not in mine]
    if before is not None:
        change = compare(before.glance, known.glance)
        record.moving += change.is_moving
        if change.cut:
            record.cuts_ms.append(at_ms)


def _merge(reading: Reading, dialect: Dialect) -> str:
    """Own summaries are folded into one; of others the beginning is kept, with its range."""
    records, foreign = [], []
    texts = [text for turn in reading.turns for text in turn.texts]
    for label, body in (entry for text in texts for entry in _entries(text, dialect)):
        record = Record.read(body)
        if record is not None:
            records.append(record)
        elif short := speech.clean(body, dialect.markers)[:_MAX_FOREIGN].strip():
            foreign.append(f"{label}: {short}")
    parts = ([merge(records).write()] if records else []) + foreign
    return " ".join(parts) or NOTHING_SEEN


def _entries(text: str, dialect: Dialect) -> list[tuple[str, str]]:
    """The summaries in one text part: each after a line with its range, or one of our own."""
    range_label = Template.of(dialect.words.range_label)
    entries: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if (fields := range_label.read(line)) is not None:
            entries.append((f"{fields['start']} to {fields['end']} s", []))
        elif entries:
            entries[-1][1].append(line)
        elif Record.read(line) is not None:
            entries.append(("", [line]))
    return [(label, "\n".join(lines)) for label, lines in entries]
