"""Which queries stand at the end of a prompt, and since when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from onlooker.bridges.model.embedded.dialect import Dialect
from onlooker.bridges.model.embedded.reading import Reading, Turn


@dataclass(frozen=True, slots=True)
class Order:
    """One standing query."""

    query: str
    turn: int
    """Index of the tick that asked; -1: asked before this chunk, known from the head."""
    asked_ms: int | None
    """None: unknown."""

    @property
    def in_head(self) -> bool:
        return self.turn < 0


def orders_of(reading: Reading, dialect: Dialect) -> list[Order]:
    """The standing queries, oldest first, no more than the dialect holds.

    Asking again re-arms: the same words count from the newest tick that asked them.
    """
    standing: dict[str, Order] = {}
    for order, ended in _events(reading):
        for text in ended:
            standing.pop(_same(text), None)
        if order is not None:
            standing[_same(order.query)] = order
    limit = max(dialect.words.max_instructions, 1)
    return list(standing.values())[-limit:]


def _events(reading: Reading) -> Iterator[tuple[Order | None, list[str]]]:
    for query in reading.head.standing:
        yield Order(query, -1, None), []
    for index, turn in enumerate(reading.turns):
        yield None, turn.ended
        for query in turn.queries:
            yield Order(query, index, _time_at(reading.turns, index)), []


def _time_at(turns: list[Turn], index: int) -> int | None:
    """The time of a tick; of one without a label, that of its nearest neighbour before it (or,
    at the beginning, after it)."""
    near = [*reversed(turns[: index + 1]), *turns[index + 1 :]]
    return next((turn.at_ms for turn in near if turn.at_ms is not None), None)


def _same(text: str) -> str:
    return " ".join(text.casefold().split())
