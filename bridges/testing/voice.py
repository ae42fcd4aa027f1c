"""A scripted recogniser and a scripted synthesiser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from onlooker.bridges.base import (
    AudioChunk,
    RecogniserCapabilities,
    SynthesiserCapabilities,
    Transcript,
)
from onlooker.bridges.testing.script import Script, Sleep, fresh, hang
from onlooker.errors import BridgeError, BridgeRejected

_BYTES_PER_SAMPLE: Final = 2


@dataclass(frozen=True, slots=True)
class Heard:
    """One scripted recognition."""

    transcript: Transcript
    delay_s: float = 0.0
    hangs: bool = False


Recognition: TypeAlias = Heard | Transcript | str | BridgeError


class ScriptedRecogniser:
    """A ``Recogniser`` that hears what its script says, strictly.

    Args:
        answers: one for each utterance, in order.
        capabilities: to declare.
        sleep: how it waits.
    """

    def __init__(
        self,
        answers: Iterable[Recognition] = (),
        *,
        capabilities: RecogniserCapabilities | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.script: Script[Recognition] = Script("recogniser", answers)
        self.utterances: list[tuple[bytes, int]] = []
        """PCM and sample rate of each."""
        self._capabilities = capabilities if capabilities is not None else RecogniserCapabilities()
        self._sleep = sleep

    @property
    def capabilities(self) -> RecogniserCapabilities:
        return self._capabilities

    async def transcribe(self, pcm: bytes, sample_rate: int) -> Transcript:
        self.script.check_open()
        if len(pcm) % _BYTES_PER_SAMPLE or sample_rate <= 0:
            raise BridgeRejected(
                "the sound is not 16-bit PCM — send whole samples and their rate",
                bridge="recogniser",
                code="bad_audio",
            )
        answer = self.script.take()
        self.utterances.append((pcm, sample_rate))
        if isinstance(answer, BridgeError):
            raise fresh(answer)
        if isinstance(answer, str):
            return Transcript(answer)
        if isinstance(answer, Transcript):
            return answer
        await self._sleep(answer.delay_s)
        if answer.hangs:
            await hang()
        return answer.transcript

    async def aclose(self) -> None:
        self.script.close()


@dataclass(frozen=True, slots=True)
class Spoken:
    """One scripted clause: silence of the right length, then maybe a failure."""

    word_ms: int = 200
    """Length of each word."""
    chunk_ms: int = 100
    first_delay_s: float = 0.0
    delay_s: float = 0.0
    """Before each further chunk."""
    error: BridgeError | None = None
    """Raised after half of the sound."""
    hangs: bool = False
    """Goes quiet after half of the sound."""


class ScriptedSynthesiser:
    """A ``Synthesiser`` that makes silence, each word as long as the script says.

    Args:
        answers: one for each clause, in order; None speaks every clause the default way.
        capabilities: to declare; word timings are given when they are declared.
        sleep: how it waits.
    """

    def __init__(
        self,
        answers: Iterable[Spoken | BridgeError] | None = None,
        *,
        capabilities: SynthesiserCapabilities | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.script: Script[Spoken | BridgeError] = Script("synthesiser", answers or ())
        self.texts: list[str] = []
        self.aborts = 0
        self._is_scripted = answers is not None
        self._capabilities = (
            capabilities
            if capabilities is not None
            else SynthesiserCapabilities(streaming=True, word_timestamps=True)
        )
        self._sleep = sleep

    @property
    def capabilities(self) -> SynthesiserCapabilities:
        return self._capabilities

    async def speak(self, text: str) -> AsyncGenerator[AudioChunk, None]:
        answer = self._next()
        self.texts.append(text)
        if isinstance(answer, BridgeError):
            raise fresh(answer)
        chunks = self._chunks(text, answer)
        is_cut = answer.hangs or answer.error is not None
        most = (len(chunks) + 1) // 2 if is_cut else len(chunks)
        is_over = False
        try:
            for number, chunk in enumerate(chunks[:most]):
                await self._sleep(answer.delay_s if number else answer.first_delay_s)
                self.script.check_open()
                yield chunk
            if answer.hangs:
                await hang()
            is_over = True
            if answer.error is not None:
                raise fresh(answer.error)
        finally:
            self.aborts += not is_over

    async def aclose(self) -> None:
        self.script.close()

    def _next(self) -> Spoken | BridgeError:
        if self._is_scripted:
            return self.script.take()
        self.script.check_open()
        return Spoken()

    def _chunks(self, text: str, spoken: Spoken) -> list[AudioChunk]:
        """Silence in pieces; word ends come with the first, from the clause's start."""
        rate = self._capabilities.sample_rate
        ends = tuple(spoken.word_ms * number for number in range(1, len(text.split()) + 1))
        total_ms = ends[-1] if ends else 0
        timings = ends if self._capabilities.word_timestamps else None
        step_ms = spoken.chunk_ms if self._capabilities.streaming else max(1, total_ms)
        return [
            AudioChunk(
                pcm=bytes(rate * min(step_ms, total_ms - at) // 1000 * _BYTES_PER_SAMPLE),
                sample_rate=rate,
                word_ends_ms=timings if at == 0 else None,
            )
            for at in range(0, total_ms, step_ms)
        ]
