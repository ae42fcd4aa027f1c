"""Reads the error bodies of chat-completions servers, vLLM's in particular.

The body is ``{"error": {"message", "type", "param", "code"}}``, also inside a stream that began
with status 200. Messages are matched for known phrases and their numbers; none is passed on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from onlooker.bridges.boundary import Code, LimitRejected
from onlooker.bridges.http_errors import from_status, has_own_meaning
from onlooker.errors import BridgeError, BridgeProtocolError, BridgeRejected, BridgeUnavailable

_PARAM: Final = re.compile(r"[a-z][a-z0-9_.\[\]]{0,39}")
"""A parameter's name is fit to be shown; anything else might be a value."""

_TOO_LONG: Final = (
    re.compile(r"input length \((?P<asked>\d+)\) exceeds .*?\((?P<limit>\d+)\)", re.I | re.S),
    re.compile(r"prompt \(length (?P<asked>\d+)\) is longer than .*?(?P<limit>\d+)", re.I | re.S),
    re.compile(
        r"maximum context length is (?P<limit>\d+) tokens.*?(?P<asked>\d+) (?:input )?tokens",
        re.I | re.S,
    ),
    re.compile(r"context[ _]length|maximum model length", re.I),
)
_REPLY_TOO_LONG: Final = re.compile(
    r"max_tokens=(?P<asked>\d+) cannot be greater than .*?=(?P<limit>\d+)", re.S
)
_TOO_MANY: Final = re.compile(r"at most (?P<limit>\d+) image", re.I)
_CACHE_MISS: Final = re.compile(
    r"cache miss for image|expected a cached item for|'images': \[None", re.I
)
_BAD_IMAGE: Final = re.compile(
    r"non-base64 digit|incorrect padding|failed to load image|cannot identify image"
    r"|image file is truncated|failed to apply \w*processor"
    r"|(?:invalid|failed to decode) (?:image|base64)",
    re.I,
)
_NOT_MULTIMODAL: Final = re.compile(r"not a multimodal model|does not support image", re.I)
_GRAMMAR: Final = re.compile(r"grammar error|invalid regex|failed to compile.*grammar", re.I)
_ENGINE_DEAD: Final = re.compile(r"enginecore encountered|engine ?dead|engine is dead", re.I)


def read_refusal(
    status: int, content_type: str, body: bytes, *, bridge: str, where: str
) -> BridgeError:
    """The error for an answer that is not a stream of chunks, whatever it is."""
    data = _json_of(body)
    error = data.get("error") if isinstance(data, dict) else None
    if isinstance(error, Mapping):
        return read_error(error, status=status, bridge=bridge, where=where)
    if has_own_meaning(status):
        return from_status(status, bridge=bridge, where=where)
    if "html" in content_type.lower() or body.lstrip()[:1] == b"<":
        return BridgeProtocolError(
            f"what answers at {where} is a web page, not a {bridge} server — check the URL",
            bridge=bridge,
            code=Code.HTML_REPLY.value,
            retryable=False,
        )
    if status >= 400:
        return from_status(status, bridge=bridge, where=where)
    return BridgeProtocolError(
        f"the {bridge} server at {where} did not answer with a stream — check that it offers "
        "streamed chat completions",
        bridge=bridge,
        code=Code.NOT_JSON.value,
        retryable=False,
    )


def read_error(
    error: Mapping[str, Any], *, status: int = 200, bridge: str, where: str
) -> BridgeError:
    """The error for an ``error`` object, of a body or of a stream.

    Args:
        error: the object.
        status: HTTP status it came with; inside a stream the object's own code counts.
        bridge: name for the error.
        where: address for the message.
    """
    code = error.get("code")
    if status < 400:
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
    message = str(error.get("message", ""))
    if "context_length_exceeded" in (code, error.get("type")):
        message = message or "context_length"
    if _ENGINE_DEAD.search(message):
        return BridgeUnavailable(
            f"the engine of the {bridge} server at {where} died — restart it",
            bridge=bridge,
            code=Code.ENGINE_DEAD.value,
        )
    for read in (_read_limit, _read_picture, _read_model):
        if (found := read(message, error, status, bridge)) is not None:
            return found
    if status >= 500 or has_own_meaning(status):
        return from_status(status, bridge=bridge, where=where)
    param = error.get("param")
    named = f" ({param})" if isinstance(param, str) and _PARAM.fullmatch(param) else ""
    return BridgeRejected(
        f"the {bridge} server at {where} refuses the request{named} — check its version and flags "
        f"(status {status})",
        bridge=bridge,
        status=status,
        code=Code.BAD_REQUEST.value,
    )


def _read_limit(
    message: str, error: Mapping[str, Any], status: int, bridge: str
) -> BridgeError | None:
    if match := _REPLY_TOO_LONG.search(message):
        return _limit(
            Code.MAX_TOKENS_TOO_LARGE,
            lambda limit: f"replies may be longer than the model's context of {limit} tokens — "
            "lower model.max_reply_tokens",
            match, status, bridge,
        )  # fmt: skip
    if match := _TOO_MANY.search(message):
        if match["limit"] == "0":
            return _not_multimodal(status, bridge)
        return _limit(
            Code.TOO_MANY_IMAGES,
            lambda limit: f"the {bridge} server takes at most {limit} pictures in a prompt — lower "
            "memory.hard_cap_frames, or raise its --limit-mm-per-prompt",
            match, status, bridge,
        )  # fmt: skip
    for pattern in _TOO_LONG:
        if match := pattern.search(message):
            return _limit(
                Code.CONTEXT_EXCEEDED,
                lambda limit: f"the prompt is longer than the model's context of {limit} tokens — "
                "lower memory.max_prompt_tokens, or raise the server's --max-model-len",
                match, status, bridge,
            )  # fmt: skip
    return None


def _limit(
    code: Code, text: Callable[[str], str], match: re.Match[str], status: int, bridge: str
) -> LimitRejected:
    numbers = match.groupdict()
    limit, asked = numbers.get("limit"), numbers.get("asked")
    return LimitRejected(
        text(limit if limit is not None else "unknown"),
        bridge=bridge,
        code=code,
        limit=int(limit) if limit is not None else None,
        asked=int(asked) if asked is not None else None,
        status=status,
    )


def _read_picture(
    message: str, error: Mapping[str, Any], status: int, bridge: str
) -> BridgeError | None:
    if _CACHE_MISS.search(message):
        # With a picture cache smaller than one prompt this comes as a 500, for good.
        text = (
            f"the {bridge} server no longer holds a picture — it is sent again; if this repeats, "
            "raise the server's --mm-processor-cache-gb"
        )
        return BridgeRejected(
            text, bridge=bridge, status=status, code=Code.CACHE_MISS.value, retryable=True
        )
    if _NOT_MULTIMODAL.search(message):
        return _not_multimodal(status, bridge)
    if status < 500 and _BAD_IMAGE.search(message):
        return BridgeRejected(
            f"the {bridge} server cannot read one of the pictures — check the video source",
            bridge=bridge,
            status=status,
            code=Code.BAD_IMAGE.value,
        )
    return None


def _read_model(
    message: str, error: Mapping[str, Any], status: int, bridge: str
) -> BridgeError | None:
    is_missing = status == 404 and (
        error.get("type") == "NotFoundError" or "model" in (error.get("param"), error.get("code"))
    )
    if is_missing or error.get("code") == "model_not_found":
        return BridgeRejected(
            f"the {bridge} server does not serve that model — check model.name",
            bridge=bridge,
            status=status,
            code=Code.MODEL_NOT_FOUND.value,
        )
    if status < 500 and _GRAMMAR.search(message):
        return BridgeRejected(
            f"the {bridge} server cannot use the reply's grammar — report this with its version",
            bridge=bridge,
            status=status,
            code=Code.BAD_GRAMMAR.value,
        )
    return None


def _not_multimodal(status: int, bridge: str) -> BridgeRejected:
    return BridgeRejected(
        f"the {bridge} server's model takes no pictures — serve a vision-language model",
        bridge=bridge,
        status=status,
        code=Code.NOT_MULTIMODAL.value,
    )


def _json_of(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
