"""What to do on a tick: dialects, parsing, gates, dedup, prompts. All pure.

In order of use: :class:`Policy` gates the tick and gives the sampling; :class:`PromptBuilder`
builds the messages; :class:`ReplyParser` reads the reply as it streams, and a :class:`DedupJudge`
holds back what may be a repetition; :func:`canonical` spells the outcome for memory.
"""

from onlooker.decision.actions import Action, ActionKind, Delegate, Respond, Silence, kind_of
from onlooker.decision.dedup import Dedup, DedupJudge, normalise
from onlooker.decision.dialect import Dialect
from onlooker.decision.gates import GateConfig, GateVerdict, GateView, gate
from onlooker.decision.grammar import (
    DIALECTS,
    GENERIC,
    JOYVL,
    canonical,
    dialect,
    guess_dialect,
    neutralise,
)
from onlooker.decision.parser import (
    ActionDecided,
    Malformed,
    ParseEvent,
    QuestionText,
    ReplyEnded,
    ReplyParser,
    SpeechText,
)
from onlooker.decision.personas import PERSONAS, language_name, system_prompt
from onlooker.decision.policy import Policy
from onlooker.decision.prompt import BuiltPrompt, PromptBuilder, PromptMemory
from onlooker.decision.summaries import summary_prompt

__all__ = [
    "DIALECTS",
    "GENERIC",
    "JOYVL",
    "PERSONAS",
    "Action",
    "ActionDecided",
    "ActionKind",
    "BuiltPrompt",
    "Dedup",
    "DedupJudge",
    "Delegate",
    "Dialect",
    "GateConfig",
    "GateVerdict",
    "GateView",
    "Malformed",
    "ParseEvent",
    "Policy",
    "PromptBuilder",
    "PromptMemory",
    "QuestionText",
    "ReplyEnded",
    "ReplyParser",
    "Respond",
    "Silence",
    "SpeechText",
    "canonical",
    "dialect",
    "gate",
    "guess_dialect",
    "kind_of",
    "language_name",
    "neutralise",
    "normalise",
    "summary_prompt",
    "system_prompt",
]
