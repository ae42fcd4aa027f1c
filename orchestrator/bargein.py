"""Barge-in in two stages: doubt pauses the output at once, only certainty throws it away.

Theory of operation. While a response is live, speech of the user makes a barge-in *suspected*: the
shell stops sending, the epoch stands, nothing is lost. Now one of three things settles it:

* *confirmed* — the speech lasts ``min_speech_ms``, its transcript has words, or a trusted source
  or the client says so: the caller raises the epoch and flushes. The flushed response then has
  ``grace_ms`` left in which acks and a truncate still count; after that it is frozen.
* *dismissed* — every burst was short, every transcript empty, or a trusted source says that it was
  none (a cough, an "mm-hm"): output goes on from what was played (C11).
* ``timeout_ms`` passes without an answer: dismissed as well. So no doubt lasts, whatever the
  detector or the recogniser fails to send, and speech is never silenced for good.

Signals come from five kinds of sources behind this one machine; the configuration says which are
trusted, and signals of the others are not looked at. An explicit cancel of the client is no signal
but an order: it always counts. With the ``listen_only`` policy only orders and words of judgement
end a response; speech does not.

Time is an argument. Ask for a timer at :attr:`BargeIn.next_timer_ms` and call
:meth:`BargeIn.on_timer` when it has come. Each method returns what changed, in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from onlooker.types import Ms, ResponseId, UtteranceId

__all__ = [
    "BargeIn",
    "BargeInConfig",
    "Confirmed",
    "Dismissed",
    "Frozen",
    "OverlapPolicy",
    "SignalSource",
    "Suspected",
    "TurnChange",
]


_MAX_BURSTS: Final = 32
"""Utterances remembered over one response; a client that sends more loses the oldest."""


class SignalSource(StrEnum):
    """Who says something about whose turn it is."""

    MODEL_NATIVE = "model_native"
    """The model itself, when it hears the user."""
    EXTERNAL_VAD = "external_vad"
    """A detector of speech on our side."""
    CLIENT_EVENT = "client_event"
    """The client's own detector."""
    SERVER_POLICY = "server_policy"
    """A rule of ours, such as: an urgent response goes first."""
    DIALOGUE_STATE_MODEL = "dialogue_state_model"
    """A model that tells a barge-in from an "mm-hm"."""


class OverlapPolicy(StrEnum):
    BARGE_IN = "barge_in"
    """Speech over a response may end it."""
    LISTEN_ONLY = "listen_only"
    """Speech over a response is heard, the response goes on."""


@dataclass(frozen=True, slots=True)
class BargeInConfig:
    trusted: frozenset[SignalSource] = frozenset(SignalSource)
    """Sources whose signals count."""
    overlap: OverlapPolicy = OverlapPolicy.BARGE_IN
    min_speech_ms: int = 1_200
    """Speech this long confirms by itself."""
    short_burst_ms: int = 250
    """A burst shorter than this dismisses without waiting for its transcript."""
    has_transcripts: bool = True
    """False when no recogniser is attached: a burst below ``min_speech_ms`` dismisses."""
    timeout_ms: int = 3_000
    """A suspicion is dismissed after this."""
    grace_ms: int = 500
    """How long the last flushed response accepts acks and a truncate."""


@dataclass(frozen=True, slots=True)
class Suspected:
    """Pause the output of this response."""

    response_id: ResponseId


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Raise the epoch, flush this response, settle it to what was heard. Its grace begins."""

    response_id: ResponseId


@dataclass(frozen=True, slots=True)
class Dismissed:
    """Let the output of this response go on from what was played."""

    response_id: ResponseId


@dataclass(frozen=True, slots=True)
class Frozen:
    """The grace of this flushed response is over: freeze what was heard."""

    response_id: ResponseId


TurnChange: TypeAlias = Suspected | Confirmed | Dismissed | Frozen


@dataclass(slots=True)
class _Burst:
    """An utterance that overlaps the live response."""

    began_ms: Ms
    is_over: bool = False
    is_dropped: bool = False
    """It was none, as far as is known; words in its transcript still count."""
    is_judged: bool = False
    """A trusted source said so: its length does not count any more."""


class BargeIn:
    """The barge-in machine of one session.

    Tell it which response is live (:meth:`on_started`, :meth:`on_finished`), feed it the signals,
    and carry out what it returns. After ``Confirmed`` the response is not live any more.
    """

    __slots__ = ("_bursts", "_config", "_grace_until", "_in_grace", "_live", "_suspected_at")

    def __init__(self, config: BargeInConfig | None = None) -> None:
        self._config = config or BargeInConfig()
        self._live: ResponseId | None = None
        self._bursts: dict[UtteranceId, _Burst] = {}
        self._suspected_at: Ms | None = None
        self._in_grace: ResponseId | None = None
        self._grace_until = Ms(0)

    @property
    def live(self) -> ResponseId | None:
        """The live response, as told."""
        return self._live

    @property
    def is_suspected(self) -> bool:
        """True while the output of the live response is paused."""
        return self._suspected_at is not None

    @property
    def in_grace(self) -> ResponseId | None:
        """The last flushed response while it still accepts acks and a truncate."""
        return self._in_grace

    @property
    def next_timer_ms(self) -> Ms | None:
        """When :meth:`on_timer` wants to be called."""
        return min(self._timers(), default=None)

    # -- the live response --------------------------------------------------------------------

    def on_started(self, response_id: ResponseId) -> None:
        """A response is live now. The one before has finished or was flushed."""
        self._forget()
        self._live = response_id

    def on_finished(self) -> None:
        """The live response has run its course, or failed: there is nothing to interrupt."""
        self._forget()
        self._live = None

    # -- signals ------------------------------------------------------------------------------

    def on_speech_started(
        self, utterance_id: UtteranceId, source: SignalSource, now_ms: Ms
    ) -> tuple[TurnChange, ...]:
        """Somebody speaks."""
        if self._live is None or not self._may_interrupt(source):
            return ()
        if utterance_id in self._bursts:
            return ()
        self._note(utterance_id, now_ms)
        if self._suspected_at is not None:
            return ()
        self._suspected_at = now_ms
        return (Suspected(self._live),)

    def on_speech_ended(
        self, utterance_id: UtteranceId, duration_ms: int, now_ms: Ms
    ) -> tuple[TurnChange, ...]:
        """The utterance is over. One that began before the response counts for nothing here."""
        burst = self._bursts.get(utterance_id)
        if burst is None:
            return ()
        burst.is_over = True
        if duration_ms >= self._config.min_speech_ms and not burst.is_judged:
            return self._confirm(now_ms)
        is_short = duration_ms < self._config.short_burst_ms
        return self._drop(utterance_id) if is_short or not self._config.has_transcripts else ()

    def on_transcript(
        self, utterance_id: UtteranceId, text: str, now_ms: Ms
    ) -> tuple[TurnChange, ...]:
        """Final transcript of an utterance: words confirm, also after a dismissal."""
        if utterance_id not in self._bursts:
            return ()
        return self._confirm(now_ms) if text.strip() else self._drop(utterance_id)

    def confirm(self, source: SignalSource, now_ms: Ms) -> tuple[TurnChange, ...]:
        """A source judges that the live response has to end."""
        return self._confirm(now_ms) if source in self._config.trusted else ()

    def dismiss(self, source: SignalSource) -> tuple[TurnChange, ...]:
        """A source judges that what is heard is no barge-in."""
        if source not in self._config.trusted:
            return ()
        for burst in self._bursts.values():
            burst.is_judged = True
        return self._dismiss()

    def cancel(self, now_ms: Ms) -> tuple[TurnChange, ...]:
        """The client's order to stop the live response."""
        return self._confirm(now_ms)

    def on_timer(self, now_ms: Ms) -> tuple[TurnChange, ...]:
        """Time has passed; safe to call at any time."""
        changes: list[TurnChange] = []
        if self._in_grace is not None and now_ms >= self._grace_until:
            changes += self._end_grace()
        long_enough = now_ms - self._config.min_speech_ms
        if self.is_suspected and any(began <= long_enough for began in self._running()):
            changes += self._confirm(now_ms)
        if (
            self._suspected_at is not None
            and now_ms >= self._suspected_at + self._config.timeout_ms
        ):
            changes += self._dismiss()
        return tuple(changes)

    # -- how it is settled --------------------------------------------------------------------

    def _may_interrupt(self, source: SignalSource) -> bool:
        config = self._config
        return source in config.trusted and config.overlap is OverlapPolicy.BARGE_IN

    def _running(self) -> list[Ms]:
        """When the bursts that may still become long enough began."""
        return [
            burst.began_ms
            for burst in self._bursts.values()
            if not (burst.is_over or burst.is_dropped)
        ]

    def _note(self, utterance_id: UtteranceId, now_ms: Ms) -> None:
        self._bursts[utterance_id] = _Burst(now_ms)
        if len(self._bursts) > _MAX_BURSTS:
            del self._bursts[next(iter(self._bursts))]

    def _timers(self) -> list[Ms]:
        timers = [] if self._in_grace is None else [self._grace_until]
        if self._suspected_at is not None:
            timers.append(Ms(self._suspected_at + self._config.timeout_ms))
            timers += [Ms(began + self._config.min_speech_ms) for began in self._running()]
        return timers

    def _confirm(self, now_ms: Ms) -> tuple[TurnChange, ...]:
        if self._live is None:
            return ()
        response_id, frozen = self._live, self._end_grace()
        self.on_finished()
        self._in_grace = response_id
        self._grace_until = Ms(now_ms + self._config.grace_ms)
        return (*frozen, Confirmed(response_id))

    def _drop(self, utterance_id: UtteranceId) -> tuple[TurnChange, ...]:
        """This burst was none; with the last one the suspicion ends."""
        self._bursts[utterance_id].is_dropped = True
        is_doubt_left = any(not burst.is_dropped for burst in self._bursts.values())
        return () if is_doubt_left else self._dismiss()

    def _dismiss(self) -> tuple[TurnChange, ...]:
        if self._suspected_at is None or self._live is None:
            return ()
        self._suspected_at = None
        for burst in self._bursts.values():
            burst.is_dropped = True
        return (Dismissed(self._live),)

    def _end_grace(self) -> tuple[TurnChange, ...]:
        frozen, self._in_grace = self._in_grace, None
        return () if frozen is None else (Frozen(frozen),)

    def _forget(self) -> None:
        self._bursts.clear()
        self._suspected_at = None
