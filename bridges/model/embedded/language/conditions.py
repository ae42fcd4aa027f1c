"""Reads what comes after "tell me when": the events the eye can watch for.

A condition is understood whole or not at all: "when a person is sad" names a thing the eye
knows, and must not become "when a person appears".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Final

from onlooker.bridges.model.embedded.language import vocabulary, words
from onlooker.bridges.model.embedded.language.intents import (
    Appears,
    CodeSeen,
    ColourSeen,
    Compare,
    Leaves,
    Monitor,
    Reaches,
    Returns,
    Scene,
    SceneBecomes,
    TextSeen,
    Thing,
)

_IN_VIEW: Final = r"(?:in(?:to)? (?:view|frame|picture|sight|scene|shot|room)|there|here|inside|in)"
_APPEAR: Final = (
    rf"(?:appears?|appearing|shows? up|turns? up|arrives?|arriving|enters?|entering"
    rf"|(?:comes?|coming|walks?|walking|drives?|moves?|gets?) (?:{_IN_VIEW}|by|past|up|along)"
    rf"|pass(?:es|ing)?(?: by)?|(?:is|are|becomes?) (?:{_IN_VIEW}|visible|present|seen|detected)"
    r"|can be seen)(?: (?:scene|room|picture|frame|view|image))?"
)
_LEAVE: Final = (
    r"(?:leaves?|leaving|disappears?|disappearing|vanish(?:es)?|exits?|departs?"
    r"|(?:goes|go|going|walks?|walking|drives?|moves?|gets?) (?:away|out|off)(?: of "
    rf"(?:view|frame|picture|sight|scene|room))?|(?:is|are) (?:gone|away)"
    rf"|(?:is|are) (?:no longer|not) (?:{_IN_VIEW}|visible|present)(?: any ?more)?)"
    r"(?: (?:scene|room|picture|frame|view|image))?"
)
_RETURN: Final = (
    r"(?:(?:comes?|coming|is|are|gets?) back(?: again)?|returns?|returning|reappears?"
    rf"|{_APPEAR} again)"
)
_SEE: Final = (
    r"(?:(?:you|we|i) (?:can )?(?:see|spot|notice|detect|recogni[sz]e)|there (?:is|are|appears?))"
)
_ANYTHING: Final = r"(?:something|anything|it|things?|everything|scene|picture|image|view|camera)"
_COMPARE: Final[dict[str, tuple[Compare, int]]] = {
    "more than": (Compare.AT_LEAST, 1), "over": (Compare.AT_LEAST, 1),
    "at least": (Compare.AT_LEAST, 0), "": (Compare.AT_LEAST, 0),
    "fewer than": (Compare.AT_MOST, -1), "less than": (Compare.AT_MOST, -1),
    "under": (Compare.AT_MOST, -1), "at most": (Compare.AT_MOST, 0),
    "exactly": (Compare.EXACTLY, 0), "only": (Compare.EXACTLY, 0),
}  # fmt: skip

_SCENES: Final = (
    (Scene.STILL, rf"(?:{_ANYTHING} (?:stops?|stopped|has stopped) moving|nothing (?:moves?|is "
     r"moving)(?: any ?more)?|(?:movement|motion) (?:stops?|ends?|ceases?)|(?:it|everything|scene|"
     r"picture) (?:is|stands|gets|becomes|goes) still)"),
    (Scene.MOVES, rf"(?:(?:{_SEE} |{_ANYTHING} )?(?:moves?|(?:is|starts?|begins?) (?:moving|to "
     rf"move)|(?:{_SEE} )?(?:something|anything) moving|movement|motion|moving)(?: (?:is )?"
     r"(?:detected|starts?|begins?|happens?))?)"),
    (Scene.CUT, rf"(?:(?:{_ANYTHING} (?:changes?|cuts?|switch(?:es)?|is different|has changed)"
     rf"(?: completely)?)|(?:{_SEE} )?(?:scene (?:change|cut)s?|cuts?|new scene)(?: happens?)?)"),
    (Scene.DARK, rf"(?:(?:it|{_ANYTHING}) (?:gets?|becomes?|goes|turns?|is|grows?) (?:too )?"
     r"dark(?:er)?|lights? (?:goes|go|are|is|turns?|gets?) (?:turned |switched )?(?:out|off)"
     r"|darkness(?: falls)?)"),
    (Scene.BRIGHT, rf"(?:(?:it|{_ANYTHING}) (?:gets?|becomes?|goes|turns?|is|grows?) (?:too )?"
     r"(?:bright(?:er)?|light(?:er)?)(?: again)?|lights? (?:goes|go|come|comes|are|is|turns?) "
     r"(?:turned |switched )?(?:back )?on)"),
)  # fmt: skip

_SEPARATOR: Final = re.compile(r",? (?:or|and) (?:(?:also|then) )?(?:(?:when|if|whenever) )?")


def read_condition(text: str) -> tuple[Monitor, ...] | None:
    """The events that ``text`` (plain form) waits for; None unless all of it is understood."""
    # "in view" is kept for the verbs at first: "comes into view" must not lose its end.
    return _read(words.without_articles(text), depth=0)


def _read(text: str, depth: int) -> tuple[Monitor, ...] | None:
    for candidate in dict.fromkeys((text, words.without_tail(text))):
        for rule in _RULES:
            if found := rule(candidate):
                return found
    return _read_parts(text, depth) if depth < 3 else None


def _read_parts(text: str, depth: int) -> tuple[Monitor, ...] | None:
    for mark in islice(_SEPARATOR.finditer(text), 6):
        left, right = text[: mark.start()], text[mark.end() :]
        first = _read(left, depth + 1)
        if first is None:
            continue
        rest = _read(right, depth + 1) or _read(f"{_subject(left)} {right}", depth + 1)
        if rest is not None:
            return first + rest
    return None


def _subject(text: str) -> str:
    found = re.fullmatch(rf"(.+?) (?:{_RETURN}|{_APPEAR}|{_LEAVE})", text)
    return found[1] if found else text.split(" ")[0]


def read_thing(text: str) -> Thing | None:
    """``red car``, ``stop sign``, ``people``."""
    if name := vocabulary.thing(text):
        return Thing(name)
    first, _, rest = text.partition(" ")
    shade, name = vocabulary.colour(first), vocabulary.thing(rest)
    return Thing(name, shade) if shade and name else None


def read_things(text: str) -> tuple[Thing, ...] | None:
    pieces = re.split(r" (?:or|and) |, ", text)
    things = tuple(found for piece in pieces if (found := read_thing(piece)) is not None)
    return things if things and len(things) == len(pieces) else None


def _scene(text: str) -> tuple[Monitor, ...] | None:
    for scene, pattern in _SCENES:
        if re.fullmatch(pattern, text):
            return (SceneBecomes(scene),)
    return None


def _code(text: str) -> tuple[Monitor, ...] | None:
    code = r"(?:qr|bar)[ -]?codes?"
    found = re.fullmatch(rf"(?:{_SEE} )?{code}(?: {_APPEAR})?", text)
    return (CodeSeen(),) if found else None


def _text_seen(text: str) -> tuple[Monitor, ...] | None:
    if re.fullmatch(rf"(?:{_SEE} )?(?:text|writing|words?|letters)(?: {_APPEAR})?", text):
        return (TextSeen(None),)
    found = re.fullmatch(
        rf"(?:{_SEE} |you (?:can )?read )?(?:word|words|text) (?P<a>.+?)(?: {_APPEAR})?"
        r"|(?:sign|label|screen|display|it|text|page) (?:says|reads|shows) (?P<b>.+)",
        text,
    )
    return (TextSeen(found["a"] or found["b"]),) if found else None


def _reaches(text: str) -> tuple[Monitor, ...] | None:
    compare = "|".join(word for word in _COMPARE if word)
    found = re.fullmatch(
        rf"(?:{_SEE} |you count )?(?P<how>(?:{compare}) )?(?P<n>\w+) (?P<what>.+?)(?: {_APPEAR})?",
        text,
    )
    if found is None:
        return None
    thing = read_thing(found["what"])
    n = 0 if found["n"] == "no" else vocabulary.number(found["n"])
    if thing is None or n is None:
        return None
    compare_as, shift = _COMPARE[(found["how"] or "").strip()]
    if n == 0 and not found["how"]:
        compare_as = Compare.EXACTLY
    if n + shift < 0:
        return None
    return (Reaches(thing, n + shift, compare_as),)


def _nobody(text: str) -> tuple[Monitor, ...] | None:
    found = re.fullmatch(rf"(?:{_SEE} )?(?:nobody|no one|no body)(?: {_APPEAR}| left)?", text)
    return (Reaches(Thing("person"), 0, Compare.EXACTLY),) if found else None


def _returns(text: str) -> tuple[Monitor, ...] | None:
    found = re.fullmatch(rf"(?:{_SEE} )?(?P<what>.+?) {_RETURN}|{_SEE} (?P<seen>.+?) again", text)
    things = read_things(found["what"] or found["seen"]) if found else None
    return tuple(Returns(thing) for thing in things) if things else None


def _leaves(text: str) -> tuple[Monitor, ...] | None:
    found = re.fullmatch(
        rf"(?P<a>.+?) {_LEAVE}|you (?:no longer|do not) see (?P<b>.+?)(?: any ?more)?"
        r"|(?:you )?(?:lose sight of|no more) (?P<c>.+)",
        text,
    )
    things = read_things(found["a"] or found["b"] or found["c"]) if found else None
    return tuple(Leaves(thing) for thing in things) if things else None


def _appears(text: str) -> tuple[Monitor, ...] | None:
    found = re.fullmatch(rf"(?:{_SEE} )?(?P<what>.+?)(?: {_APPEAR})?", text)
    things = read_things(found["what"]) if found else None
    return (Appears(things),) if things else None


def _colour(text: str) -> tuple[Monitor, ...] | None:
    found = re.fullmatch(
        rf"(?:{_SEE} )?(?:something |anything |colou?r )?(?P<c>\w+)(?: (?:thing|object|colou?r))?"
        rf"(?: {_APPEAR})?|(?:it|light|screen|picture) (?:turns?|becomes?|goes|is) (?P<turn>\w+)",
        text,
    )
    shade = vocabulary.colour(found["c"] or found["turn"]) if found else None
    return (ColourSeen(shade),) if shade else None


_RULES: Final[tuple[Callable[[str], tuple[Monitor, ...] | None], ...]] = (
    _scene, _code, _nobody, _reaches, _returns, _leaves, _appears, _colour, _text_seen,
)  # fmt: skip
