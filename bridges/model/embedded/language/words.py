"""Brings a query into the plain form that the rules read."""

from __future__ import annotations

import re
from typing import Final

MAX_QUERY_CHARS: Final = 2_000
MAX_CLAUSE_CHARS: Final = 240
MAX_CLAUSES: Final = 12
"""Beyond these a query is not understood: plain requests are short, a 100 kB one costs time."""

_CONTRACTIONS: Final = (
    (r"\bcan't\b", "cannot"), (r"\bwon't\b", "will not"), (r"n't\b", " not"),
    (r"\b(what|who|where|when|how|there|it|that|he|she|here)'s\b", r"\1 is"),
    (r"'re\b", " are"), (r"'d\b", " would"), (r"'ll\b", " will"), (r"'ve\b", " have"),
)  # fmt: skip
_COURTESY: Final = re.compile(
    r"^(?:hey|hi|hello|ok|okay|so|now|then|and|also|onlooker|please|kindly|just"
    r"|(?:can|could|would|will) you(?= (?!see\b|read\b|count\b))(?: please| kindly)?"
    r"|i (?:want|need) you to|i would like you to|i would like to know|i want to know"
    r"|do you know|would you mind|be so kind as to|from now on|starting now)\s+"
)
_TAIL: Final = re.compile(
    r"\s+(?:please|thanks|thank you|now|right now|at (?:the|this) moment|currently|today|ok|okay"
    r"|for me|out loud|aloud|immediately|at once|straight away|right away|until i say stop"
    r"|whenever it happens|each time|every time|on (?:the )?(?:camera|screen)|in sight"
    r"|in (?:the )?(?:view|frame|picture|image|video|scene|shot|footage|stream|room)"
    r"|in front of (?:you|the camera|me))$"
)
_ARTICLES: Final = re.compile(
    r"\b(?:a|an|the|any|some|another|my|your|our|this|that|these|those)\s+"
)


def plain(text: str) -> str:
    """Lower case, one space between words, no punctuation but decimal points."""
    text = text[:MAX_QUERY_CHARS].lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    for pattern, replacement in _CONTRACTIONS:
        text = re.sub(pattern, replacement, text)
    text = re.sub(r"'s\b", "", text)
    text = re.sub(r"(?<!\d)[.]|[.](?!\d)|[^\w\s.]", " ", text)
    return " ".join(text.split())


def plain_list(text: str) -> str:
    """The plain form with commas read as "or": ``a car, a bus or a truck``."""
    return plain(re.sub(r",\s*(?:(?:or|and)\s+)?(?=\S)", " or ", text[:MAX_QUERY_CHARS]))


def stripped(text: str) -> str:
    """Without what only makes a request polite, and without places that mean "in view"."""
    return _repeat(_TAIL, _repeat(_COURTESY, text))


def without_articles(text: str) -> str:
    return _ARTICLES.sub("", text + " ").strip()


def without_tail(text: str) -> str:
    return _repeat(_TAIL, text)


def _repeat(pattern: re.Pattern[str], text: str) -> str:
    while (shorter := pattern.sub("", text)) != text:
        text = shorter
    return text


def clauses(text: str) -> tuple[str, ...]:
    """The sentences of a query, split also before a second request: ``… and tell me …``."""
    sentences = re.split(r"(?<=[!?;\n])|\.(?=\s|$)", text[:MAX_QUERY_CHARS])
    again = (
        r",?\s+(?:and|then|also)\s+(?:also\s+|then\s+|please\s+)*(?=(?:tell|let|alert|warn|notify|"
        r"remind|say|watch|describe|read|how many|what)\b)"
    )
    pieces = (piece for s in sentences for piece in re.split(again, s, flags=re.IGNORECASE))
    found = tuple(piece.strip(" ,;!\n") for piece in pieces)
    return tuple(piece for piece in found if piece.strip("?"))[:MAX_CLAUSES]
