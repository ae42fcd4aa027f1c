"""What a server says about itself, and servers that are none."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from onlooker.bridges.model.openai_compat import OpenAICompat
from onlooker.errors import BridgeError
from onlooker.testing import FakeConfig, FakeVLLM
from onlooker.types import ServerLimits
from tests.bridges.material import collect, request

pytestmark = pytest.mark.shell


def backend(models: Any, *, version: Any = None, **options: Any) -> OpenAICompat:
    """A backend whose server answers ``models``: a response, or JSON."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/version":
            return httpx.Response(404) if version is None else httpx.Response(200, json=version)
        if isinstance(models, httpx.Response):
            return models
        return httpx.Response(200, json=models)

    return OpenAICompat("http://here", transport=httpx.MockTransport(answer), **options)


def cards(*names: str, **more: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": name, **more} for name in names]}


async def failure(made: OpenAICompat) -> BridgeError:
    with pytest.raises(BridgeError) as caught:
        await made.probe()
    await made.aclose()
    return caught.value


async def test_vllm_tells_its_model_its_context_and_its_version() -> None:
    fake = FakeVLLM(FakeConfig(model="tiny", max_model_len=4_096))
    made = OpenAICompat("http://here", transport=fake.transport())
    assert not made.capabilities.structured_outputs
    probe = await made.probe()
    assert (probe.model, probe.server) == ("tiny", "vLLM 0.32.0")
    assert probe.limits == ServerLimits(4_096, None)
    assert made.capabilities.structured_outputs
    assert made.capabilities.references
    await made.aclose()


async def test_limits_it_does_not_tell_are_those_given() -> None:
    told = await backend(cards("m"), limits=ServerLimits(1_000, 20)).probe()
    assert told.limits == ServerLimits(1_000, 20)
    assert told.server is None
    known = await backend(cards("m", max_model_len=5_000), limits=ServerLimits(1_000, 20)).probe()
    assert known.limits == ServerLimits(5_000, 20)


@pytest.mark.parametrize("length", [True, 0, -1, "8192", None, 1.5])
async def test_an_odd_context_length_is_not_believed(length: Any) -> None:
    probe = await backend(cards("m", max_model_len=length)).probe()
    assert probe.limits.max_model_len is None


async def test_other_servers_promise_no_grammar() -> None:
    made = backend(cards("m", owned_by="library"), version={"version": "1.2"})
    assert (await made.probe()).server == "1.2"
    assert not made.capabilities.structured_outputs


async def test_a_model_that_is_not_there_is_answered_with_what_is() -> None:
    error = await failure(backend(cards("a", "b"), model="c"))
    assert error.code == "model_not_found"
    assert "does not offer the model c" in error.message
    assert "a, b" in error.message


async def test_one_of_several_models_must_be_chosen() -> None:
    error = await failure(backend(cards(*"abcdefg")))
    assert error.code == "model_not_found"
    assert "a, b, c, d, e, …" in error.message
    assert (await backend(cards("a", "b"), model="b").probe()).model == "b"


async def test_a_server_without_a_model() -> None:
    assert "offers no model" in (await failure(backend(cards()))).message


async def test_names_of_models_cannot_break_a_line() -> None:
    error = await failure(backend(cards("a\nb", "c" * 500), model="x"))
    assert "\n" not in error.message
    assert "a?b" in error.message
    assert len(error.message) < 400


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (httpx.Response(200, html="<h1>Router</h1>"), "html_reply"),
        (httpx.Response(200, text="hello"), "not_json"),
        (httpx.Response(200, json=[1]), "not_json"),
        (httpx.Response(200, content=b"x" * (2 << 20)), "reply_too_large"),
        (httpx.Response(401, json={"error": "Unauthorized"}), "unauthorized"),
        (httpx.Response(404, json={"detail": "Not Found"}), "wrong_url"),
        (httpx.Response(308, headers={"location": "https://x"}), "wrong_url"),
        (httpx.Response(500, text="Internal Server Error"), "server_error"),
        (httpx.Response(503, text=""), "busy"),
    ],
)
async def test_what_is_no_model_server_is_told_apart(response: httpx.Response, code: str) -> None:
    error = await failure(backend(response))
    assert error.code == code
    assert " — " in error.message


async def test_cards_of_odd_shapes_are_skipped() -> None:
    odd = {"data": [None, {"id": 3}, {"id": "m"}]}
    assert (await backend(odd).probe()).model == "m"
    assert (await failure(backend({"data": "x"}))).code == "model_not_found"


@pytest.mark.parametrize("version", [[], {"version": 3}, {}])
async def test_an_odd_version_is_none(version: Any) -> None:
    assert (await backend(cards("m"), version=version).probe()).server is None


async def test_the_model_that_was_found_is_the_one_asked_for() -> None:
    fake = FakeVLLM(FakeConfig(model="tiny"))
    made = OpenAICompat("http://here", transport=fake.transport())
    await made.probe()
    await collect(made, request())
    assert fake.requests[0].fields["model"] == "tiny"
    await made.aclose()
