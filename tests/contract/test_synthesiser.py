"""What every synthesiser promises."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from onlooker.bridges.base import AudioChunk, Synthesiser, SynthesiserCapabilities
from onlooker.errors import BridgeError, BridgeUnavailable
from onlooker.testing import ScriptedSynthesiser, Spoken, UnexpectedCall

pytestmark = pytest.mark.contract

DOWN = BridgeUnavailable("down", bridge="synthesiser")

IMPLEMENTATIONS: dict[str, Callable[[], Synthesiser]] = {
    "scripted": ScriptedSynthesiser,
    "scripted-plain": lambda: ScriptedSynthesiser(capabilities=SynthesiserCapabilities()),
}


@pytest.fixture(params=IMPLEMENTATIONS)
def synthesiser(request: pytest.FixtureRequest) -> Synthesiser:
    return IMPLEMENTATIONS[request.param]()


async def spoken(synthesiser: Synthesiser, text: str) -> list[AudioChunk]:
    return [chunk async for chunk in synthesiser.speak(text)]


def length_ms(chunks: list[AudioChunk]) -> float:
    return sum(len(chunk.pcm) / 2 / chunk.sample_rate * 1000 for chunk in chunks)


async def test_it_keeps_the_protocol(synthesiser: Synthesiser) -> None:
    assert isinstance(synthesiser, Synthesiser)
    assert isinstance(synthesiser.capabilities, SynthesiserCapabilities)


async def test_a_clause_becomes_whole_samples_at_the_declared_rate(
    synthesiser: Synthesiser,
) -> None:
    chunks = await spoken(synthesiser, "one two three")
    assert chunks
    assert all(chunk.sample_rate == synthesiser.capabilities.sample_rate for chunk in chunks)
    assert all(len(chunk.pcm) % 2 == 0 for chunk in chunks)
    if not synthesiser.capabilities.streaming:
        assert len(chunks) == 1


async def test_word_ends_are_given_where_they_are_declared(synthesiser: Synthesiser) -> None:
    chunks = await spoken(synthesiser, "one two three")
    ends = [end for chunk in chunks for end in chunk.word_ends_ms or ()]
    if synthesiser.capabilities.word_timestamps:
        assert len(ends) == 3
        assert ends == sorted(ends)
        assert ends[-1] <= length_ms(chunks) + 1
    else:
        assert not ends


async def test_nothing_to_say_makes_no_sound(synthesiser: Synthesiser) -> None:
    assert length_ms(await spoken(synthesiser, "")) == 0


async def test_stopping_early_leaves_it_usable(synthesiser: Synthesiser) -> None:
    sound = synthesiser.speak("one two three")
    await anext(sound)
    await sound.aclose()
    assert await spoken(synthesiser, "again")


async def test_closing_twice_is_fine_and_nothing_is_said_after(synthesiser: Synthesiser) -> None:
    await synthesiser.aclose()
    await synthesiser.aclose()
    with pytest.raises(BridgeError) as caught:
        await spoken(synthesiser, "late")
    assert caught.value.code == "closed"


# -- the fake ---------------------------------------------------------------------------------


@pytest.mark.virtual_time
async def test_the_fake_paces_and_times_its_words() -> None:
    fake = ScriptedSynthesiser([Spoken(word_ms=300, chunk_ms=100, first_delay_s=1, delay_s=0.1)])
    chunks = await spoken(fake, "one two")
    assert len(chunks) == 6
    assert length_ms(chunks) == 600
    assert chunks[0].word_ends_ms == (300, 600)
    assert asyncio.get_running_loop().time() == pytest.approx(1.5)
    assert (fake.texts, fake.aborts) == (["one two"], 0)
    with pytest.raises(UnexpectedCall):
        await spoken(fake, "more")


async def test_the_fake_fails_as_told() -> None:
    fake = ScriptedSynthesiser([DOWN, Spoken(error=DOWN)])
    with pytest.raises(BridgeUnavailable):
        await spoken(fake, "one two")
    sound = fake.speak("one two")
    assert (await anext(sound)).pcm
    with pytest.raises(BridgeUnavailable):
        [chunk async for chunk in sound]
    assert fake.aborts == 0


@pytest.mark.virtual_time
async def test_the_fake_hangs_until_it_is_cancelled() -> None:
    fake = ScriptedSynthesiser([Spoken(hangs=True)])
    call = asyncio.create_task(spoken(fake, "one two"))
    await asyncio.sleep(100)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert fake.aborts == 1
