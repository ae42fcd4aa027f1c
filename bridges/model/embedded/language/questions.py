"""Reads what is asked once: questions about the view, reminders, and questions of knowledge."""

from __future__ import annotations

import re
from typing import Final

from onlooker.bridges.model.embedded.language import vocabulary, words
from onlooker.bridges.model.embedded.language.conditions import read_thing
from onlooker.bridges.model.embedded.language.intents import (
    AskColours,
    AskScene,
    AskTime,
    Count,
    Describe,
    Knowledge,
    Present,
    Question,
    ReadCode,
    ReadText,
    Remind,
    Scene,
)

_THERE: Final = (
    r"(?: (?:are there|is there|there are|(?:do|can) you see|you (?:can )?see|are visible|are you "
    r"seeing|are (?:in view|here|there|around)|is (?:here|there)))?"
)
_SIGN: Final = (
    r"(?:text|sign|signs|label|screen|display|page|board|poster|writing|words|letter|letters|note"
    r"|plate|number plate|licen[cs]e plate|book|paper|it|that)"
)
_DESCRIBE: Final = re.compile(
    r"(?:describe|tell me about|report)(?: me)?(?: (?:what (?:do )?you (?:can )?see|scene|view"
    r"|picture|image|video|frame|surroundings|room|everything|it|what is (?:there|happening)))?"
    r"|what (?:do|can) you see|what you (?:can )?see|what is (?:there|in view|visible|happening"
    r"|going on|in front of you|in picture|in front of camera|in it|it)|what are you seeing"
    r"|what are you looking at|look(?: around)?|what is up"
)
_READ: Final = re.compile(
    rf"what does {_SIGN}(?: \w+)? say|what {_SIGN}(?: \w+)? says|what is written(?: \w+){{0,3}}"
    rf"|read(?: me)?(?: out)?(?: {_SIGN})?(?: out)?|can you read {_SIGN}|what can you read"
    r"|what (?:text|words?|writing)(?: (?:is|are) there|can you (?:see|read)|do you (?:see|read))?"
)
_CODE: Final = re.compile(
    r"(?:scan|read|decode|check)(?: qr[ -]?code)|what (?:does|is in|is on) qr[ -]?code(?: (?:say|"
    r"contain|mean|hold))?|(?:is there|do you see|can you see) qr[ -]?code|what is qr[ -]?code"
)
_SCENES: Final = (
    (Scene.MOVES, r"is (?:something|anything|it|there anything|there something) moving"
     r"|(?:is there|do you see) (?:movement|motion)|does (?:anything|something|it) move"
     r"|what is moving"),
    (Scene.DARK, r"is (?:it|picture|room) (?:too )?dark|how dark is it"),
    (Scene.BRIGHT, r"is (?:it|picture|room|light) (?:too )?(?:bright|light|on)|how bright is "
     r"(?:it|picture|room)|are lights on"),
)  # fmt: skip
_COLOURS: Final = re.compile(
    r"(?:what|which) colou?rs? (?:(?:do|can) you see|is it|are (?:there|visible)|is there|is "
    r"picture)|what (?:is|are) (?:main|dominant) colou?rs?"
)
_TIME: Final = re.compile(
    r"what time is it|what is time|time|how (?:long|much time) (?:have you been (?:watching|"
    r"looking|running|on)|has (?:it been|passed|elapsed|gone by)|is it)(?: so far)?|elapsed time"
    r"|how many (?:seconds|minutes|hours) have passed"
)
_REMIND: Final = (
    r"(?:(?:remind|wake|alert|ping|tell|warn|notify) me|let me know|set (?:a|the) (?:timer|alarm)|"
    r"timer|say (?:so|something)|start (?:a|the) timer)"
)
_TOPIC: Final = r"(?:(?:to|about|that|of) (?P<about>.+?))"
_DURATION: Final = r"(?P<d>\S+(?: \S+){0,4}?)"
_TIMERS: Final = tuple(
    re.compile(form)
    for form in (
        rf"{_REMIND}(?: {_TOPIC})? (?:in|after|for|to) {_DURATION}(?: (?:have|has) passed)?",
        rf"{_REMIND} (?:in|after|for) {_DURATION} {_TOPIC}",
        rf"(?:in|after) {_DURATION} {_REMIND}(?: {_TOPIC})?",
        rf"{_REMIND} (?:when|once|as soon as|if) {_DURATION} (?:have|has|are|is) (?:passed|elapsed|"
        r"gone by|gone|over|up)",
        r"(?P<d>\S+ \S+) timer",
    )
)
_KNOWLEDGE: Final = re.compile(
    r"(?:who|whom|whose|why|which|where|when|what|how)\b.*|(?:explain|look up|search|google"
    r"|find out|research|define|translate|calculate|compute|compare|solve|recommend|suggest)\b.*"
    r"|(?:tell|give|show) me (?:about|more about|who|why|how|where|what|a fact|facts|news|the "
    r"(?:capital|news|weather|history|meaning|price|recipe|name|difference|population))\b.*"
    r"|(?:is|are|was|were|does|do|did|can|could|should|will|would|has|have)\b.*\?"
)
_SEEN: Final = re.compile(
    r"\b(?:he|she|him|his|her|they|them|their|this|that|these|those|it|its|here|there|you|your|me|"
    r"my|i|we|picture|image|scene|view|camera|room|wearing|holding|doing|happening|video|frame|"
    r"looking|now)\b"
)
_LOOK_UP: Final = re.compile(
    r"(?:look up|search|google|find out|research|explain|how (?:do|can|should) (?:i|we|you)|define|"
    r"translate|recommend|suggest)\b"
)


def read_question(text: str) -> Question | None:
    """The question about the view that ``text`` (plain form) asks, if it asks one."""
    text = re.sub(
        r"^(?:tell me|show me|say|let me know) (?=what|how|if|whether|the time)", "", text
    )
    bare = words.without_articles(text)
    fixed = _fixed(bare)
    if fixed is not None:
        return fixed
    for scene, pattern in _SCENES:
        if re.fullmatch(pattern, bare):
            return AskScene(scene)
    return _about_thing(bare)


def _fixed(text: str) -> Question | None:
    forms: tuple[tuple[re.Pattern[str], Question], ...] = (
        (_CODE, ReadCode()), (_READ, ReadText()), (_DESCRIBE, Describe()),
        (_COLOURS, AskColours(None)), (_TIME, AskTime()),
    )  # fmt: skip
    return next((question for form, question in forms if form.fullmatch(text)), None)


def _about_thing(text: str) -> Question | None:
    if found := re.fullmatch(rf"(?:count|how many|number of) (.+?){_THERE}", text):
        thing = read_thing(found[1])
        return Count(thing) if thing else None
    if found := re.fullmatch(r"(?:what|which) colou?r (?:is|are) (.+)", text):
        thing = read_thing(found[1])
        return AskColours(thing) if thing else None
    found = re.fullmatch(
        r"(?:is|are) there (.+?)(?: (?:here|there|in view|around))?|(?:do|can) you see (.+)"
        r"|(?:is|are) (.+?) (?:there|here|in view|visible|in (?:picture|room|frame))",
        text,
    )
    thing = read_thing(next(g for g in found.groups() if g)) if found else None
    return Present(thing) if thing else None


def read_reminder(text: str) -> Remind | None:
    """``remind me in ten seconds to stir``, in any order; ``text`` in plain form."""
    for form in _TIMERS:
        if found := form.fullmatch(text):
            after = vocabulary.duration_ms(found["d"])
            if after is not None:
                return Remind(after, found.groupdict().get("about") or "")
    return None


def read_knowledge(raw: str, text: str) -> Knowledge | None:
    """``raw`` is the clause as it was written, ``text`` its plain form.

    A question about what is in view ("what is he holding?") is not one of knowledge: nobody
    could look it up.
    """
    asked = text + " ?" if raw.rstrip().endswith("?") else text
    if not _KNOWLEDGE.fullmatch(asked):
        return None
    if _LOOK_UP.match(text) is None and _SEEN.search(re.sub(r"^(?:tell|give|show) me ", "", text)):
        return None
    return Knowledge(" ".join(raw.split()))
