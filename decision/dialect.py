"""A dialect: how one model family is prompted, how it spells decisions, how it is sampled."""

from __future__ import annotations

from dataclasses import dataclass

from onlooker.types import DialectText, SamplingParams


@dataclass(frozen=True, slots=True)
class Dialect:
    """Everything that differs between model families."""

    name: str
    text: DialectText
    """Its words, as plain values for other packages."""
    tick_sampling: SamplingParams
    """Of a tick call, without a grammar; :class:`Policy` adds it where the server has one."""
    summary_sampling: SamplingParams
    block_sampling: SamplingParams
    """Of a roll-up of several summaries."""
    default_frames: int
    """F, pictures in a full chunk, unless set."""
    part_end: str
    """Closes each text part before the time label, where the chat template adds no break."""
    regex: str | None = None
    """Grammar of a reply (``structured_outputs.regex``); None: the model was trained to it."""
    forced_regex: str | None = None
    """The same without silence."""
