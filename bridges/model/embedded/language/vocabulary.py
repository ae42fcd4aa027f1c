"""Words the eye knows: things it can see, colours, numbers, units of time."""

from __future__ import annotations

import re
from typing import Final

COCO_LABELS: Final[dict[int, str]] = {
    1: "person", 2: "bicycle", 3: "car", 4: "motorcycle", 5: "airplane", 6: "bus", 7: "train",
    8: "truck", 9: "boat", 10: "traffic light", 11: "fire hydrant", 13: "stop sign",
    14: "parking meter", 15: "bench", 16: "bird", 17: "cat", 18: "dog", 19: "horse", 20: "sheep",
    21: "cow", 22: "elephant", 23: "bear", 24: "zebra", 25: "giraffe", 27: "backpack",
    28: "umbrella", 31: "handbag", 32: "tie", 33: "suitcase", 34: "frisbee", 35: "skis",
    36: "snowboard", 37: "ball", 38: "kite", 39: "baseball bat", 40: "baseball glove",
    41: "skateboard", 42: "surfboard", 43: "tennis racket", 44: "bottle", 46: "wine glass",
    47: "cup", 48: "fork", 49: "knife", 50: "spoon", 51: "bowl", 52: "banana", 53: "apple",
    54: "sandwich", 55: "orange", 56: "broccoli", 57: "carrot", 58: "hot dog", 59: "pizza",
    60: "donut", 61: "cake", 62: "chair", 63: "couch", 64: "potted plant", 65: "bed",
    67: "dining table", 70: "toilet", 72: "tv", 73: "laptop", 74: "computer mouse", 75: "remote",
    76: "keyboard", 77: "cell phone", 78: "microwave", 79: "oven", 80: "toaster", 81: "sink",
    82: "refrigerator", 84: "book", 85: "clock", 86: "vase", 87: "scissors", 88: "teddy bear",
    89: "hair drier", 90: "toothbrush",
}  # fmt: skip
"""Ids the COCO detector answers with; the ids that are missing were never used."""

_SYNONYMS: Final[dict[str, str]] = {
    "man": "person", "woman": "person", "human": "person", "somebody": "person",
    "someone": "person", "anybody": "person", "anyone": "person", "boy": "person",
    "girl": "person", "child": "person", "kid": "person", "guy": "person", "lady": "person",
    "pedestrian": "person", "visitor": "person", "human being": "person",
    "bike": "bicycle", "pushbike": "bicycle", "automobile": "car", "motorbike": "motorcycle",
    "aeroplane": "airplane", "plane": "airplane", "aircraft": "airplane", "jet": "airplane",
    "lorry": "truck", "van": "truck", "ship": "boat", "hydrant": "fire hydrant",
    "traffic signal": "traffic light", "kitten": "cat", "kitty": "cat", "puppy": "dog",
    "doggy": "dog", "pony": "horse", "lamb": "sheep", "rucksack": "backpack", "purse": "handbag",
    "bag": "handbag", "luggage": "suitcase", "sports ball": "ball", "football": "ball",
    "soccer ball": "ball", "glass": "wine glass", "mug": "cup", "coffee cup": "cup",
    "doughnut": "donut", "sofa": "couch", "plant": "potted plant", "houseplant": "potted plant",
    "table": "dining table", "television": "tv", "tv set": "tv", "notebook": "laptop",
    "mouse": "computer mouse", "remote control": "remote", "phone": "cell phone",
    "mobile": "cell phone", "mobile phone": "cell phone", "cellphone": "cell phone",
    "smartphone": "cell phone", "fridge": "refrigerator", "hair dryer": "hair drier",
    "teddy": "teddy bear",
}  # fmt: skip

_IRREGULAR: Final[dict[str, str]] = {
    "people": "person", "persons": "person", "men": "man", "women": "woman",
    "children": "child", "mice": "mouse", "knives": "knife", "buses": "bus",
    "benches": "bench", "couches": "couch", "sandwiches": "sandwich", "glasses": "glass",
    "wine glasses": "wine glass", "geese": "goose", "ladies": "lady", "lorries": "lorry",
    "toothbrushes": "toothbrush", "puppies": "puppy", "ponies": "pony", "bodies": "body",
}  # fmt: skip

_PLURALS: Final[dict[str, str]] = {
    "person": "people", "bus": "buses", "sheep": "sheep", "skis": "skis", "knife": "knives",
    "bench": "benches", "couch": "couches", "sandwich": "sandwiches", "scissors": "scissors",
    "wine glass": "wine glasses", "toothbrush": "toothbrushes", "broccoli": "broccoli",
    "computer mouse": "computer mice",
}  # fmt: skip

_WITHOUT_ARTICLE: Final = frozenset({"scissors", "skis", "broccoli"})

COLOURS: Final = (
    "red", "orange", "yellow", "green", "cyan", "blue", "purple", "pink",
    "brown", "black", "grey", "white",
)  # fmt: skip
_COLOUR_SYNONYMS: Final = {
    "gray": "grey", "turquoise": "cyan", "teal": "cyan", "violet": "purple", "magenta": "pink",
}  # fmt: skip

_UNITS: Final[dict[str, int]] = {
    "second": 1_000, "sec": 1_000, "s": 1_000, "minute": 60_000, "min": 60_000,
    "hour": 3_600_000, "hr": 3_600_000, "h": 3_600_000,
}  # fmt: skip
_NUMBERS: Final[dict[str, int]] = {
    "zero": 0, "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13,
    "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
    "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
    "ninety": 90,
}  # fmt: skip

_KNOWN: Final = frozenset(COCO_LABELS.values())
_NUMBER: Final = r"\d{1,6}(?:\.\d{1,3})?|" + "|".join(_NUMBERS)
DURATION: Final = re.compile(
    rf"(?P<half>half (?:an?|of an?) )?(?:(?P<n>{_NUMBER}) )?(?P<unit>{'|'.join(_UNITS)})s?"
)


def number(word: str) -> int | None:
    """A count written in digits or in words; None when it is neither."""
    return int(word) if word.isascii() and word.isdigit() else _NUMBERS.get(word)


def duration_ms(text: str) -> int | None:
    """Milliseconds of ``10 seconds``, ``two minutes``, ``half an hour``; None for anything else."""
    found = DURATION.fullmatch(re.sub(r"^(\d+(?:\.\d+)?)([a-z])", r"\1 \2", text))
    if found is None:
        return None
    unit = _UNITS[found["unit"]]
    if found["half"]:
        return unit // 2 if found["n"] is None else None
    if found["n"] is None:
        return None
    try:
        return int(float(found["n"]) * unit)
    except ValueError:
        return _NUMBERS[found["n"]] * unit


_SINGULARS: Final = _IRREGULAR | {many: one for one, many in _PLURALS.items()}


def singular(word: str) -> str:
    if word in _SINGULARS:
        return _SINGULARS[word]
    if word in _KNOWN or word in _SYNONYMS or not word.endswith("s") or word.endswith("ss"):
        return word
    return word[:-1]


def thing(words: str) -> str | None:
    """The COCO class that ``words`` (no article) name, in any number; None when unknown."""
    for candidate in (words, singular(words)):
        if candidate in _KNOWN:
            return candidate
        if candidate in _SYNONYMS:
            return _SYNONYMS[candidate]
    return None


def colour(word: str) -> str | None:
    word = _COLOUR_SYNONYMS.get(word, word)
    return word if word in COLOURS else None


def plural(name: str) -> str:
    return _PLURALS.get(name, name + "s")


def counted(n: int, name: str, shade: str | None = None) -> str:
    """``a bicycle``, ``an umbrella``, ``2 people``, ``no red cats``."""
    adjective = f"{shade} " if shade else ""
    if n != 1:
        return f"{n or 'no'} {adjective}{plural(name)}"
    if name in _WITHOUT_ARTICLE:
        return adjective + name
    first = (adjective or name)[0]
    return f"{'an' if first in 'aeiou' else 'a'} {adjective}{name}"
