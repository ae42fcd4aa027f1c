"""The scripted model: strict, timed by its script, and telling what it was asked."""

from __future__ import annotations

import asyncio

import pytest

import onlooker.testing
from onlooker.bridges.base import Finished, ModelProbe, TextDelta
from onlooker.errors import BridgeTimeout, BridgeUnavailable
from onlooker.testing import Reply, ScriptedModel, UnexpectedCall
from onlooker.types import ServerLimits, Usage
from tests.bridges.material import Album, broken, chunk_of, collect, request, text_of

pytestmark = [pytest.mark.shell, pytest.mark.virtual_time]

DOWN = BridgeUnavailable("down", bridge="model", code="busy")


async def test_it_answers_in_order_and_a_call_too_many_fails() -> None:
    model = ScriptedModel(["one", "", DOWN])
    model.script.add(Reply(("a", "b"), finish_reason="length", usage=Usage(3, 2, 1)))
    assert await collect(model, request()) == [TextDelta("one"), Finished("stop", None)]
    assert await collect(model, request()) == [Finished("stop", None)]
    items, error = await broken(model, request())
    assert (items, error.code, error.message, error.bridge) == ([], "busy", "down", "model")
    assert error is not DOWN
    items = await collect(model, request())
    assert items[-1] == Finished("length", Usage(3, 2, 1))
    model.script.check_used_up()
    with pytest.raises(UnexpectedCall, match="4 answers"):
        await collect(model, request())
    assert (model.running, model.aborts) == (0, 0)


async def test_it_keeps_what_it_was_asked() -> None:
    album = Album()
    frames = album.shots(2)
    model = ScriptedModel(lambda asked: asked.call_id)
    items = await collect(model, request(chunk_of(frames), call_id="c5"), album)
    assert text_of(items) == "c5"
    (seen,) = model.requests
    assert seen.request.call_id == "c5"
    assert seen.canonical.count(b'"image_url":null') == 2
    assert seen.frames == album.data


async def test_its_delays_pass_on_the_loops_clock() -> None:
    model = ScriptedModel([Reply(("a", "b", "c"), first_delay_s=1, delay_s=0.5)])
    await collect(model, request())
    assert asyncio.get_running_loop().time() == 2


async def test_its_delays_can_be_somebody_elses() -> None:
    slept: list[float] = []

    async def sleep(delay_s: float) -> None:
        slept.append(delay_s)

    model = ScriptedModel([Reply(("a", "b"), first_delay_s=1, delay_s=0.5)], sleep=sleep)
    await collect(model, request())
    assert slept == [1, 0.5]


@pytest.mark.parametrize("reply", [Reply(hangs=True), Reply(("a",), first_delay_s=100)])
async def test_b33_it_ends_at_the_deadline(reply: Reply) -> None:
    model = ScriptedModel([reply])
    items, error = await broken(model, request(timeout_s=3))
    assert isinstance(error, BridgeTimeout)
    assert not items
    assert asyncio.get_running_loop().time() == 3
    assert model.aborts == 1


async def test_its_probe_is_what_it_was_given() -> None:
    told = ModelProbe("m", ServerLimits(1_000, 5))
    assert await ScriptedModel(probe=told).probe() == told
    model = ScriptedModel(probe=DOWN)
    for _ in range(2):
        with pytest.raises(BridgeUnavailable, match="down"):
            await model.probe()


async def test_closing_it_ends_a_reply_in_the_making() -> None:
    model = ScriptedModel([Reply(("a", "b"), delay_s=1)])
    items = model.stream(request(), Album().get)
    assert await anext(items) == TextDelta("a")
    await model.aclose()
    with pytest.raises(BridgeUnavailable) as caught:
        await anext(items)
    assert caught.value.code == "closed"


def test_the_public_fakes_are_those_of_the_bridges() -> None:
    from onlooker.bridges import testing

    assert onlooker.testing.__all__ == testing.__all__
    assert set(testing.__all__) <= set(dir(onlooker.testing))
    for name in testing.__all__:
        assert getattr(onlooker.testing, name) is getattr(testing, name)
    for module in (testing, onlooker.testing):
        with pytest.raises(AttributeError, match="no_such_name"):
            _ = module.no_such_name
