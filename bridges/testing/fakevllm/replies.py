"""What the fake says: by default silence, and more when the prompt asks for it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from onlooker.bridges.testing.fakevllm.request import FakeRequest

ReplyFunction: TypeAlias = Callable[[FakeRequest], str]

_ORDINARY: Final = re.compile(r"[ \t]*(?:\w{1,6}|[^\w\s])|\s")
_STRETCH: Final = re.compile(r"from (\d+(?:\.\d+)?) to (\d+(?:\.\d+)?) seconds")


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a prompt's dialect spells decisions."""

    silence: str
    respond: str
    delegate: str


JOYVL: Final = Spelling(
    "</silence>", "</response> {text}", "</response> {note} </delegation> {question}"
)
GENERIC: Final = Spelling("[SILENCE]", "[RESPOND] {text}", "[RESPOND] {note} [DELEGATE] {question}")


def spelling_of(request: FakeRequest) -> Spelling:
    """The spelling its system prompt teaches."""
    return GENERIC if GENERIC.silence in request.system else JOYVL


def default_reply(request: FakeRequest) -> str:
    """Silence; a response or a delegation when the last user message holds ``#respond`` or
    ``#delegate``; notes when notes are asked for; a response where silence is not allowed."""
    if request.is_summary:
        return _summary(request)
    spelling = spelling_of(request)
    if "#delegate" in request.last_user_text:
        return spelling.delegate.format(note="Let me find out.", question="Look up the answer")
    if "#respond" in request.last_user_text:
        return spelling.respond.format(text="I see a change now.")
    return spelling.silence


def _summary(request: FakeRequest) -> str:
    match = _STRETCH.search(request.last_user_text)
    stretch = f"From {match[1]} to {match[2]} seconds" if match else "In this stretch"
    return f"{stretch}, {len(request.pictures)} pictures: nothing that matters changed."


def scripted(texts: Iterable[str], *, then: ReplyFunction = default_reply) -> ReplyFunction:
    """Replies in order, one a decision; requests for notes, and all that follow, go to ``then``."""
    left = deque(texts)

    def reply(request: FakeRequest) -> str:
        if not left or request.is_summary:
            return then(request)
        return left.popleft()

    return reply


def constrained(text: str, request: FakeRequest) -> str | None:
    """``text`` as the grammar allows it; None when nothing at hand does.

    A real engine would force any model into the grammar. Here the text is taken as it is or, when
    it lacks its marker, as a response; where silence is not allowed something is said.
    """
    if request.regex is None:
        return text
    spelling = spelling_of(request)
    candidates = (
        text,
        spelling.respond.format(text=text.strip()),
        spelling.respond.format(text="Nothing has changed."),
        spelling.silence,
    )
    allowed = re.compile(request.regex)
    return next((one for one in candidates if allowed.fullmatch(one)), None)


@dataclass(frozen=True, slots=True)
class Generation:
    """A reply as it will be sent."""

    pieces: tuple[str, ...]
    """Text of each token; "" for a special token that is left out."""
    sampled: tuple[str, ...]
    """The same with the special tokens."""
    finish_reason: str
    stop_reason: int | str | None = None


def generate(
    text: str, *, special: Iterable[str], skips_special: bool, max_tokens: int
) -> Generation:
    """``text`` cut into tokens, at most ``max_tokens`` of them."""
    names = tuple(special)
    sampled = tuple(_pieces(text, names))
    reason = "length" if len(sampled) > max_tokens else "stop"
    sampled = sampled[:max_tokens]
    pieces = tuple("" if skips_special and one in names else one for one in sampled)
    return Generation(pieces, sampled, reason)


def stop_at(
    generation: Generation, special_ids: dict[str, int], stops: Iterable[int]
) -> Generation:
    """The generation ended before the first special token of ``stops``."""
    wanted = set(stops)
    for number, piece in enumerate(generation.sampled):
        token_id = special_ids.get(piece)
        if token_id in wanted:
            return Generation(
                generation.pieces[:number], generation.sampled[: number + 1], "stop", token_id
            )
    return generation


def _pieces(text: str, special: tuple[str, ...]) -> Iterator[str]:
    # Special tokens are found first, as tokenizers do, whatever stands beside them.
    names = "|".join(re.escape(one) for one in special)
    for part in re.split(f"({names})", text) if names else (text,):
        if part in special:
            yield part
        else:
            yield from _ORDINARY.findall(part)
