"""Wording: every sentence the eye can say, and how it recognises one it has said.

Sentences are short and factual. Whatever comes from outside (a user's words, text in view, the
contents of a QR code) passes :func:`clean`, so that nobody can hold a sign with a decision marker
on it into the camera.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from onlooker.bridges.model.embedded.language.intents import Scene, Thing
from onlooker.bridges.model.embedded.language.vocabulary import counted, plural

STAND_IN: Final = "I am a simple stand-in eye, not a language model"
INSTALL: Final = 'onlooker installed with its "eye" extra'
"""No ``onlooker[eye]``: brackets are what markers are made of."""
MAX_QUOTE: Final = 80
MAX_SPOKEN: Final = 900

_ACTIVE: Final = re.compile(
    r"[<>\[\]{}|`\\＜＞［］【】〔〕｛｝｜‹›]"  # noqa: RUF001 - what a tag can be made of
    r"|[^\S ]|[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202f\ufeff\ud800-\udfff]"
)


def clean(text: str, markers: Iterable[str] = ()) -> str:
    """One line of ``text`` in which no marker of any dialect and no chat-template token is left."""
    text = " ".join(_ACTIVE.sub(" ", text).split())
    while True:
        shorter = text
        for marker in markers:
            shorter = re.sub(re.escape(clean(marker)) or r"(?!)", " ", shorter, flags=re.IGNORECASE)
        shorter = " ".join(shorter.split())
        if shorter == text:
            return text
        text = shorter


def quoted(text: str, markers: Iterable[str] = ()) -> str:
    """A user's or a sign's words in quotation marks, cut to a speakable length."""
    short = clean(text.replace("\u201c", "'").replace("\u201d", "'"), markers)
    if len(short) > MAX_QUOTE:
        short = short[:MAX_QUOTE].rsplit(" ", 1)[0] + " …"
    return f"\u201c{short}\u201d"


def listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def named(thing: Thing, n: int = 1) -> str:
    """``a red car``, ``2 people``, ``no cats``."""
    return counted(n, thing.name, thing.colour)


def thing_pattern(thing: Thing) -> str:
    shade = f"{thing.colour} " if thing.colour else ""
    return rf"{shade}(?:{re.escape(thing.name)}|{re.escape(plural(thing.name))})\b"


# -- monitors --------------------------------------------------------------------------------


def appeared(thing: Thing, n: int) -> str:
    return f"I see {named(thing, max(n, 1))}."


def appeared_again(thing: Thing, n: int) -> str:
    """In other words than the first time: an equal line could be taken for a repetition."""
    return f"I see {named(thing, max(n, 1))} again."


def appeared_key(thing: Thing) -> str:
    return rf"(?<!no longer )\bsee [^.]*\b{thing_pattern(thing)}"


def left(thing: Thing) -> str:
    return f"I no longer see {named(thing)}."


def left_key(thing: Thing) -> str:
    return rf"no longer see [^.]*\b{thing_pattern(thing)}"


def returned(thing: Thing) -> str:
    shade = f"{thing.colour} " if thing.colour else ""
    return f"The {shade}{thing.name} is back."


def returned_key(thing: Thing) -> str:
    return rf"\b{thing_pattern(thing)} is back"


def count_of(thing: Thing, n: int) -> str:
    if n == 1:
        shade = f"{thing.colour} " if thing.colour else ""
        return f"I count one {shade}{thing.name}."
    return f"I count {named(thing, n)}."


def count_key(thing: Thing) -> str:
    return rf"I count [^.]*\b{thing_pattern(thing)}"


BECAME: Final = {
    Scene.MOVES: "Something is moving.",
    Scene.STILL: "Nothing is moving any more.",
    Scene.CUT: "The scene has changed.",
    Scene.DARK: "It has become dark.",
    Scene.BRIGHT: "It has become bright.",
}


def colour_seen(colour: str) -> str:
    return f"I see the colour {colour}."


def text_read(lines: Sequence[str], markers: Iterable[str]) -> str:
    return f"I can read: {quoted(' / '.join(lines), markers)}."


def code_read(codes: Sequence[str], markers: Iterable[str]) -> str:
    said = listed([quoted(code, markers) for code in codes])
    return f"I see a QR code: {said}." if len(codes) == 1 else f"I see QR codes: {said}."


# -- questions -------------------------------------------------------------------------------

NO_PICTURE: Final = "I cannot see anything: there is no picture from the camera."
NO_TEXT: Final = "I see no text that I can read."
NO_CODE: Final = "I see no QR code."

TEXT_KEY: Final = r"I can read: |I see no text"
CODE_KEY: Final = r"I see (?:a |no )?QR codes?"
DESCRIBED_KEY: Final = r"In view: "
COLOURS_KEY: Final = r"main colours? (?:is|are) "
TIME_KEY: Final = r"since the stream began"


def described(things: dict[str, int] | None, scene: str) -> str:
    if things is None:
        return f"In view: nothing I can name, since naming things needs {INSTALL}. {scene}"
    if not things:
        return f"In view: nothing I can name. {scene}"
    return f"In view: {listed([counted(n, name) for name, n in things.items()])}. {scene}"


def presence(thing: Thing, n: int) -> str:
    return f"Yes, I see {named(thing, n)}." if n else f"No, I see {named(thing, 0)}."


def presence_key(thing: Thing) -> str:
    return rf"(?:Yes|No), I see [^.]*\b{thing_pattern(thing)}"


SCENE_ANSWERS: Final = {
    Scene.MOVES: ("Yes, something is moving.", "No, nothing is moving."),
    Scene.DARK: ("Yes, it is dark.", "No, it is not dark."),
    Scene.BRIGHT: ("Yes, it is bright.", "No, it is not bright."),
}


def main_colours(colours: Sequence[str]) -> str:
    if len(colours) == 1:
        return f"The main colour is {colours[0]}."
    return f"The main colours are {listed(colours)}."


def colours_of_thing(thing: Thing, colours: Sequence[str] | None) -> str:
    if colours is None:
        return f"I see {named(thing, 0)} to name the colour of."
    return f"The {thing.name} is mostly {listed(colours)}."


def colours_of_thing_key(thing: Thing) -> str:
    return rf"\b{thing_pattern(thing)} (?:is mostly|to name the colour)"


def time_told(at_ms: int) -> str:
    return f"I have no clock: it is {at_ms / 1000:.1f} seconds since the stream began."


# -- reminders, refusals, delegation ---------------------------------------------------------


def duration(ms: int) -> str:
    in_minutes = ms >= 120_000 and ms % 60_000 == 0
    n, unit = (ms / 60_000, "minute") if in_minutes else (ms / 1000, "second")
    return f"{n:g} {unit}{'' if n == 1 else 's'}"


def reminder_set(after_ms: int, about: str) -> str:
    return f"I will remind you in {duration(after_ms)}{': ' + about if about else ''}."


def reminder_due(after_ms: int, about: str) -> str:
    return f"Reminder after {duration(after_ms)}{': ' + about if about else ', as you asked'}."


def refused(quote: str) -> str:
    return (
        f"I cannot serve {quote}: {STAND_IN}. I can watch for things, movement, light, colours, "
        "text and QR codes, count, describe and remind."
    )


def needs_extra(quote: str, what: str) -> str:
    return f"I cannot serve {quote}: {STAND_IN}, and seeing {what} needs {INSTALL}."


def refused_key(quote: str) -> str:
    return rf"I cannot serve {re.escape(quote)}"


def looking_up(quote: str) -> str:
    return f"Let me ask about that: {quote}."


def joined(sentences: Iterable[str]) -> str:
    """One spoken text: no sentence twice, and "I see" only once."""
    unique = list(dict.fromkeys(sentences))
    opening = "I see "
    seen = [s for s in unique if re.fullmatch(r"I see (?:an? |\d+ )[^.:]*\.", s)]
    if len(seen) > 1:
        merged = opening + listed([s.removeprefix(opening).removesuffix(".") for s in seen]) + "."
        unique = [merged if s == seen[0] else s for s in unique if s == seen[0] or s not in seen]
    return " ".join(unique)[:MAX_SPOKEN]
