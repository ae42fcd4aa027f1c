"""Personas: the system prompts, kept as text files beside this module.

A prompt is constant for a dialect, a persona and a language: no clock, no id, no user name (S3).
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Final

from onlooker.decision.dialect import Dialect
from onlooker.errors import ConfigError

PERSONAS: Final = ("default", "silent", "talkative")
"""What every dialect has."""

_LANGUAGES: Final = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "es": "Spanish", "fi": "Finnish", "fr": "French", "he": "Hebrew",
    "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese",
    "ko": "Korean", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "th": "Thai", "tr": "Turkish",
    "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


def language_name(code: str) -> str:
    """English name of a language code such as ``de`` or ``pt-BR``."""
    known = _LANGUAGES.get(code.replace("_", "-").split("-")[0].lower())
    return known or f"the language with the code {code}"


def system_prompt(dialect: Dialect, persona: str, language: str = "en") -> str:
    """The whole system prompt.

    Args:
        dialect: How the model spells decisions.
        persona: One of :data:`PERSONAS`.
        language: Code of the language to speak unless the user asks for another one.

    Raises:
        ConfigError: There is no such persona.
    """
    if persona not in PERSONAS:
        raise ConfigError(f"there is no persona {persona!r}; use one of {', '.join(PERSONAS)}")
    prompt = _text(dialect.name, persona)
    if language == "en":
        return prompt
    return f"{prompt}\n\nSpeak {language_name(language)} unless the user asks for another language."


@lru_cache
def _text(dialect_name: str, persona: str) -> str:
    folder = files("onlooker.decision.prompts").joinpath(dialect_name)
    return folder.joinpath(f"{persona}.md").read_text(encoding="utf-8").strip()
