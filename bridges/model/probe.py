"""Asks a chat-completions server who it is: ``/v1/models``, and ``/version`` where there is one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from onlooker.bridges.boundary import Code, Deadline
from onlooker.bridges.model.connection import Connection
from onlooker.bridges.model.refusals import read_refusal
from onlooker.errors import BridgeError, BridgeProtocolError, BridgeRejected

_MAX_MODELS_BYTES: Final = 1 << 20
_MAX_NAMED: Final = 5
_MAX_NAME_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class FoundServer:
    model: str
    max_model_len: int | None
    server: str | None
    is_vllm: bool


async def probe_server(
    connection: Connection, deadline: Deadline, *, bridge: str, model: str | None
) -> FoundServer:
    """The server's model and limits.

    Args:
        connection: to it.
        deadline: for all of it.
        bridge: name for errors.
        model: the name that must be there; None for the only one.

    Raises:
        BridgeError: ``model_not_found`` names what there is instead.
    """
    data = await _get(connection, deadline, "/models", bridge=bridge)
    cards = data.get("data")
    cards = [card for card in cards if _is_card(card)] if isinstance(cards, list) else []
    card = _choose(cards, model, bridge=bridge)
    length = card.get("max_model_len")
    is_length = isinstance(length, int) and not isinstance(length, bool) and length > 0
    is_vllm = card.get("owned_by") == "vllm"
    version = await _version(connection, deadline, bridge=bridge)
    return FoundServer(
        model=card["id"],
        max_model_len=length if is_length else None,
        server=f"vLLM {version}" if is_vllm and version else version,
        is_vllm=is_vllm,
    )


def _is_card(card: Any) -> bool:
    return isinstance(card, dict) and isinstance(card.get("id"), str)


def _choose(
    cards: Sequence[Mapping[str, Any]], model: str | None, *, bridge: str
) -> Mapping[str, Any]:
    if model is None and len(cards) == 1:
        return cards[0]
    for card in cards:
        if card["id"] == model:
            return card
    names = ", ".join(_shown(card["id"]) for card in cards[:_MAX_NAMED])
    names += ", …" if len(cards) > _MAX_NAMED else ""
    if not cards:
        why = f"the {bridge} server offers no model — load one"
    elif model is None:
        why = f"the {bridge} server offers several models — set model.name to one of: {names}"
    else:
        why = (
            f"the {bridge} server does not offer the model {_shown(model)} — set model.name to "
            f"one of: {names}"
        )
    raise BridgeRejected(why, bridge=bridge, code=Code.MODEL_NOT_FOUND.value)


def _shown(name: str) -> str:
    """A name from outside, fit for one line."""
    text = "".join(char if char.isprintable() else "?" for char in name[: _MAX_NAME_CHARS + 1])
    return text if len(text) <= _MAX_NAME_CHARS else text[:_MAX_NAME_CHARS] + "…"


async def _version(connection: Connection, deadline: Deadline, *, bridge: str) -> str | None:
    try:
        data = await _get(connection, deadline, "/version", bridge=bridge, from_root=True)
    except BridgeError:
        # Only vLLM has it; a server without it can serve as well.
        return None
    version = data.get("version")
    return _shown(version) if isinstance(version, str) else None


async def _get(
    connection: Connection, deadline: Deadline, path: str, *, bridge: str, from_root: bool = False
) -> Mapping[str, Any]:
    async with connection.send("GET", path, deadline, from_root=from_root) as response:
        body = await connection.read_whole(response, deadline, max_bytes=_MAX_MODELS_BYTES)
        data = _object(body) if response.status_code == 200 else None
        if data is None:
            raise _not_a_list(response.status_code, response.headers, body, connection, bridge)
        return data


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _not_a_list(
    status: int, headers: Mapping[str, str], body: bytes, connection: Connection, bridge: str
) -> BridgeError:
    error = read_refusal(
        status, headers.get("content-type", ""), body, bridge=bridge, where=connection.where
    )
    if error.code == Code.NOT_JSON:
        return BridgeProtocolError(
            f"what answers at {connection.where} does not list its models as a {bridge} server "
            "does — check the URL",
            bridge=bridge,
            code=Code.NOT_JSON.value,
            retryable=False,
        )
    return error
