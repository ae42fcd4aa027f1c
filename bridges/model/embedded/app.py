"""The embedded eye as an ASGI application: the chat-completions contract on a CPU stand-in.

Stateless per request, but for caches keyed by content. All looking and reading happens in worker
threads, so the event loop is never held.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from onlooker.bridges.model.embedded.completion import Completion, events, pieces_of, whole
from onlooker.bridges.model.embedded.dialect import Dialect
from onlooker.bridges.model.embedded.mind import Mind
from onlooker.bridges.model.embedded.prefix import PrefixMemory, prompt_units
from onlooker.bridges.model.embedded.reading import read_prompt
from onlooker.bridges.model.embedded.request import (
    MODEL_NAME,
    ChatRequest,
    Limits,
    Refused,
    read_request,
)
from onlooker.bridges.model.embedded.sight import CacheMiss, Sight, UnreadablePicture
from onlooker.types import DialectText

DESCRIPTION: Final = (
    "A stand-in that runs on the CPU with OpenCV and simple rules. It is not a language model: it "
    "understands a few plain English requests and cannot hold a conversation."
)


class Eye:
    """One eye for one dialect: a request body in, a completion out. Blocking; used from worker
    threads, several at a time."""

    def __init__(self, words: DialectText, sight: Sight, limits: Limits | None = None) -> None:
        self.limits = limits if limits is not None else Limits()
        self.sight = sight
        self._dialect = Dialect(words)
        self._mind = Mind(self._dialect, sight)
        self._prefixes = PrefixMemory()
        self._numbers = itertools.count(1)

    def complete(
        self, body: bytes, request_id: str | None = None
    ) -> tuple[ChatRequest, Completion]:
        """Answers one request; raises :class:`Refused`."""
        request = read_request(body, self.limits)
        try:
            text, tokens, cached = self._answer(request)
        except (CacheMiss, UnreadablePicture) as error:
            raise Refused(str(error)) from error
        pieces, reason = pieces_of(text, request.max_tokens)
        number = request_id or f"{next(self._numbers):08d}"
        return request, Completion(f"chatcmpl-{number}", pieces, reason, tokens, cached)

    def _answer(self, request: ChatRequest) -> tuple[str, int, int]:
        reading = read_prompt(request.messages, self._dialect)
        admitted = self.sight.admit(reading.pictures)
        units = tuple(prompt_units(request.messages, admitted))
        length = sum(tokens for _, tokens in units)
        if length > self.limits.max_model_len:
            raise Refused(
                f"Input length ({length}) exceeds model's maximum context length "
                f"({self.limits.max_model_len}).",
                param="input_tokens",
            )
        text = self._mind.reply(reading)
        if request.regex is not None and not request.regex.fullmatch(text):
            spoken = self._mind.describe(reading)
            text = spoken if request.regex.fullmatch(spoken) else text
        prompt, cached = self._prefixes.meet(units)
        return text, prompt, cached


def create_app(
    words: DialectText, *, sight: Sight | None = None, limits: Limits | None = None
) -> Starlette:
    """The application, for one dialect's words.

    Args:
        words: the dialect that prompts are written in and replies are expected in.
        sight: what looks at pictures; by default with whatever of the ``[eye]`` extra is there.
        limits: of a request.
    """
    eye = Eye(words, sight if sight is not None else Sight.installed(), limits)
    routes = _Routes(eye)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", routes.chat, methods=["POST"]),
            Route("/v1/models", routes.models),
            Route("/health", routes.health),
            Route("/version", routes.version),
        ]
    )


class _Routes:
    def __init__(self, eye: Eye) -> None:
        self._eye = eye

    async def chat(self, request: Request) -> Response:
        body = await request.body()
        request_id = request.headers.get("x-request-id")
        try:
            chat, completion = await asyncio.to_thread(self._eye.complete, body, request_id)
        except Refused as refused:
            return JSONResponse(refused.body(), status_code=refused.status)
        if not chat.stream:
            return JSONResponse(whole(completion))
        lines = list(events(completion, include_usage=chat.include_usage))
        return StreamingResponse(_stream(lines), media_type="text/event-stream")

    async def models(self, request: Request) -> Response:
        card: dict[str, Any] = {
            "id": MODEL_NAME,
            "object": "model",
            "created": 0,
            "owned_by": "onlooker",
            "max_model_len": self._eye.limits.max_model_len,
            "description": DESCRIPTION,
        }
        return JSONResponse({"object": "list", "data": [card]})

    async def health(self, request: Request) -> Response:
        return Response(status_code=200)

    async def version(self, request: Request) -> Response:
        return JSONResponse({"version": "onlooker embedded eye (stand-in)"})


async def _stream(lines: list[bytes]) -> AsyncIterator[bytes]:
    for line in lines:
        yield line
