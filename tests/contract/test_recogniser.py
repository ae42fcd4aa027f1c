"""What every recogniser promises."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from onlooker.bridges.base import Recogniser, RecogniserCapabilities, Transcript
from onlooker.errors import BridgeError, BridgeUnavailable
from onlooker.testing import Heard, ScriptedRecogniser, UnexpectedCall

pytestmark = pytest.mark.contract

DOWN = BridgeUnavailable("down", bridge="recogniser")
SECOND = b"\0\0" * 16_000

IMPLEMENTATIONS: dict[str, Callable[[], Recogniser]] = {
    "scripted": lambda: ScriptedRecogniser(["hello", "", "bye"]),
}


@pytest.fixture(params=IMPLEMENTATIONS)
def recogniser(request: pytest.FixtureRequest) -> Recogniser:
    return IMPLEMENTATIONS[request.param]()


async def test_it_keeps_the_protocol(recogniser: Recogniser) -> None:
    assert isinstance(recogniser, Recogniser)
    assert isinstance(recogniser.capabilities, RecogniserCapabilities)
    assert recogniser.capabilities.sample_rate > 0


async def test_an_utterance_gives_one_final_transcript(recogniser: Recogniser) -> None:
    for _ in range(2):
        transcript = await recogniser.transcribe(SECOND, 16_000)
        assert transcript.final
        assert isinstance(transcript.text, str)


@pytest.mark.parametrize(("pcm", "rate"), [(b"\0", 16_000), (b"\0\0", 0), (b"\0\0", -1)])
async def test_what_is_no_sound_is_refused(recogniser: Recogniser, pcm: bytes, rate: int) -> None:
    with pytest.raises(BridgeError) as caught:
        await recogniser.transcribe(pcm, rate)
    assert not caught.value.retryable


async def test_closing_twice_is_fine_and_nothing_is_heard_after(recogniser: Recogniser) -> None:
    await recogniser.aclose()
    await recogniser.aclose()
    with pytest.raises(BridgeError) as caught:
        await recogniser.transcribe(SECOND, 16_000)
    assert caught.value.code == "closed"


# -- the fake ---------------------------------------------------------------------------------


@pytest.mark.virtual_time
async def test_the_fake_answers_its_script_in_order_and_no_more() -> None:
    told = Transcript("slow", language="en", no_speech=0.1)
    fake = ScriptedRecogniser([told, Heard(told, delay_s=2), DOWN])
    assert await fake.transcribe(b"\0\0", 8_000) == told
    assert await fake.transcribe(b"", 8_000) == told
    assert asyncio.get_running_loop().time() == 2
    assert fake.script.left == 1
    with pytest.raises(AssertionError, match="not asked for 1"):
        fake.script.check_used_up()
    with pytest.raises(BridgeUnavailable):
        await fake.transcribe(b"", 8_000)
    fake.script.check_used_up()
    with pytest.raises(UnexpectedCall, match="3 answers"):
        await fake.transcribe(b"", 8_000)
    assert [rate for _, rate in fake.utterances] == [8_000] * 3


@pytest.mark.virtual_time
async def test_the_fake_hangs_until_it_is_cancelled() -> None:
    fake = ScriptedRecogniser([Heard(Transcript("x"), hangs=True), "next"])
    call = asyncio.create_task(fake.transcribe(b"", 16_000))
    await asyncio.sleep(100)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await fake.transcribe(b"", 16_000)).text == "next"
