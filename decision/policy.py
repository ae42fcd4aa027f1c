"""The decision rules of one session: gates before the call, dedup and sampling around it."""

from __future__ import annotations

from dataclasses import replace

from onlooker.decision.dedup import Dedup, DedupJudge
from onlooker.decision.dialect import Dialect
from onlooker.decision.gates import GateConfig, GateVerdict, GateView, gate
from onlooker.types import Ms, SamplingParams


class Policy:
    """Composes gates, dedup and sampling. Owned by one session; plain state, no I/O.

    Tell it what happened (``on_…``, ``note_…``) as it happens; ask it (``gate``, ``sampling``,
    ``judge``, ``may_delegate``) when a tick needs to know.
    """

    def __init__(
        self, config: GateConfig, dialect: Dialect, *, has_structured_outputs: bool = False
    ) -> None:
        """Args:
        config: The gates' settings.
        dialect: How the model spells decisions.
        has_structured_outputs: The server honours ``structured_outputs.regex``. Without it the
            lenient parser alone holds the model to the grammar.
        """
        self._config = config
        self._dialect = dialect
        self._has_structured_outputs = has_structured_outputs
        self._response_ended_ms: Ms | None = None
        self._dedup = Dedup(
            repeat_cooldown_ms=config.repeat_cooldown_ms,
            delegation_cooldown_ms=config.delegation_cooldown_ms,
        )

    @property
    def dialect(self) -> Dialect:
        """How the model spells decisions."""
        return self._dialect

    # -- before the call

    def gate(
        self,
        now_ms: Ms,
        *,
        has_instruction: bool,
        has_trigger: bool = False,
        has_picture: bool = True,
    ) -> GateVerdict:
        """Whether this tick asks the model; see :class:`GateView` for the arguments."""
        view = GateView(now_ms, has_instruction, has_trigger, has_picture, self._response_ended_ms)
        text_only = self._dialect.text.has_text_only_ticks
        return gate(view, self._config, has_text_only_ticks=text_only)

    def sampling(self, *, forced: bool = False) -> SamplingParams:
        """Sampling of a tick call.

        Args:
            forced: A reply is wanted now: silence is left out of the grammar where the dialect and
                the server can do that.
        """
        regex = self._dialect.regex
        if forced and self._dialect.forced_regex is not None:
            regex = self._dialect.forced_regex
        return replace(
            self._dialect.tick_sampling, regex=regex if self._has_structured_outputs else None
        )

    # -- around the reply

    def judge(self, now_ms: Ms, *, forced: bool = False) -> DedupJudge:
        """A judge for the reply that begins now; a forced one is never held back."""
        if forced:
            self._dedup.clear()
        return self._dedup.open(now_ms)

    def may_delegate(self, question: str, now_ms: Ms) -> bool:
        """Whether ``question`` is new enough to be handed to the background brain."""
        return not self._dedup.is_repeat_delegation(question, now_ms)

    # -- what happened

    def on_query(self) -> None:
        """A fresh query arrived."""
        self._dedup.clear()
        self._dedup.clear_delegations()

    def on_silence(self) -> None:
        """The model chose silence by itself (not a gate, not dedup, not a malformed reply)."""
        self._dedup.on_silence()

    def on_response_ended(self, text: str, now_ms: Ms, *, fully_heard: bool) -> None:
        """A response ended.

        Args:
            text: What was to be said.
            now_ms: When it ended.
            fully_heard: Every word of it was heard; only then is saying it again a repetition.
        """
        self._response_ended_ms = now_ms
        if fully_heard:
            self._dedup.note_heard(text, now_ms)

    def on_delegation_started(self, question: str, now_ms: Ms) -> None:
        """``question`` went to the background brain."""
        self._dedup.note_delegated(question, now_ms)

    def on_delegated_result(self) -> None:
        """A delegated answer came, good or bad: whatever is said about it is new.

        The question itself stays known, or a brain that fails at once would be asked every tick.
        """
        self._dedup.clear()
