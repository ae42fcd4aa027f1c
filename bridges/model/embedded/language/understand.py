"""From a query to intents: the grammar of plain, limited English."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from onlooker.bridges.model.embedded.language import questions, words
from onlooker.bridges.model.embedded.language.conditions import read_condition
from onlooker.bridges.model.embedded.language.intents import Intent, Unservable

_CALL: Final = (
    r"(?:(?:tell|alert|warn|notify|inform|ping|message|call|wake|remind)(?: to)? me|let (?:me|us) "
    r"know|say(?: so| something| it)?|speak(?: up)?|shout|beep|announce(?: it)?|report(?: it)?"
    r"|give me (?:a shout|a heads up|a sign)|raise (?:an|the) alarm|watch(?: out)?|look(?: out)?"
    r"|wait(?: until| till)?|respond|react|comment)"
)
_WHEN: Final = (
    r"(?:when(?:ever)?|if|as soon as|once|every time|each time|the moment|the (?:first|next) time|"
    r"in case|should)"
)
_MONITORS: Final = (
    re.compile(rf"{_CALL}(?: (?:immediately|again|right away|out loud))? {_WHEN} (?P<c>.+)"),
    re.compile(
        r"(?:watch(?: out)?|look(?: out)?|wait|monitor|check|be on the lookout|scan"
        r"|keep (?:an eye|a lookout|watch|looking|watching)(?: out)?"
        r"|(?:tell|alert|warn|notify) me(?: about)?)(?: for| of| on)? (?P<c>.+)"
    ),
    re.compile(rf"{_WHEN} (?P<c>.+?),? {_CALL}"),
    re.compile(r"(?:wait|watch) (?:until|till) (?P<c>.+?)(?: and (?:then )?.+)?"),
    re.compile(r"(?:whenever|if|when|as soon as) (?P<c>.+)"),
)


@lru_cache(maxsize=256)
def understand(query: str) -> tuple[Intent, ...]:
    """What a query asks for, in its order; never empty, never raises.

    A clause that means nothing to the eye becomes one :class:`Unservable`, and only when no
    other clause was understood: "hello, tell me when a cat appears" is served.
    """
    served: list[Intent] = []
    refused: list[Intent] = []
    clauses = words.clauses(query) if len(query) <= words.MAX_QUERY_CHARS else ()
    for clause in clauses:
        found = _understand_clause(clause) if len(clause) <= words.MAX_CLAUSE_CHARS else ()
        served += found
        if not found:
            refused.append(Unservable(clause))
    if not served:
        return (Unservable(query),)
    return tuple(dict.fromkeys(served + [r for r in refused if _is_request(r)]))


def _understand_clause(raw: str) -> tuple[Intent, ...]:
    text = words.plain(raw)
    for candidate in dict.fromkeys((words.stripped(text), text)):
        if reminder := questions.read_reminder(candidate):
            return (reminder,)
        if question := questions.read_question(candidate):
            return (question,)
        if monitors := _read_monitor(candidate):
            return monitors
    if "," in raw and (monitors := _read_monitor(words.stripped(words.plain_list(raw)))):
        return monitors
    text = words.stripped(text)
    if _is_monitor(text):
        return ()
    knowledge = questions.read_knowledge(raw, text)
    return (knowledge,) if knowledge else ()


def _read_monitor(text: str) -> tuple[Intent, ...] | None:
    for form in _MONITORS:
        found = form.fullmatch(text)
        if found and (monitors := read_condition(found["c"])):
            return monitors
    return None


def _is_monitor(text: str) -> bool:
    return re.match(rf"{_CALL} {_WHEN} ", text) is not None


def _is_request(intent: Intent) -> bool:
    """Whether an un-understood clause beside understood ones deserves a refusal of its own."""
    text = words.stripped(words.plain(intent.query)) if isinstance(intent, Unservable) else ""
    return _is_monitor(text) or re.match(r"(?:remind|set|watch|count|read)\b", text) is not None
