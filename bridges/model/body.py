"""The wire body of one chat completion, put together from segments.

The messages come ready-made: literal bytes, and a ``FrameRef`` where a picture's ``image_url``
stands. The wire form puts the picture's bytes there; canonical form keeps ``null``. A picture is
encoded once, however many ticks it is part of, and the body is joined once.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Container
from dataclasses import dataclass
from typing import Any, Final

from onlooker.bridges.base import FrameBytes, ModelRequest
from onlooker.errors import BridgeError
from onlooker.types import DATA_URL_OPEN, FrameRef, FrameUuid, SamplingParams

_NULL: Final = b"null"
_SAMPLING_FIELDS: Final = (
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "repetition_penalty",
    "presence_penalty",
    "priority",
)


@dataclass(frozen=True, slots=True)
class Body:
    """A request body and what it is made of."""

    data: bytes
    pictures: int
    """Pictures sent with their bytes, every occurrence counted."""
    references: int
    """Pictures sent by uuid alone."""
    picture_bytes: int
    """Bytes of ``data`` that are pictures."""


def sampling_fields(sampling: SamplingParams) -> dict[str, Any]:
    """What a request says about sampling; a field that is not set is left out."""
    fields = {name: getattr(sampling, name) for name in _SAMPLING_FIELDS}
    fields = {name: value for name, value in fields.items() if value is not None}
    if not sampling.skip_special_tokens:
        # True is every server's default, and strict ones refuse a field they do not know.
        fields["skip_special_tokens"] = False
    if sampling.regex is not None:
        fields["structured_outputs"] = {"regex": sampling.regex}
    return fields


class BodyBuilder:
    """Builds the bodies of one connection, and keeps the encoded pictures of the latest one.

    Args:
        bridge: name for errors.
        user: sent as ``user``, which some routers keep a session together by.
    """

    def __init__(self, *, bridge: str, user: str | None = None) -> None:
        self._bridge = bridge
        self._user = user
        self._encoded: dict[FrameUuid, bytes] = {}

    @property
    def kept_bytes(self) -> int:
        """Size of the encoded pictures kept for the next body."""
        return sum(map(len, self._encoded.values()))

    def build(
        self,
        request: ModelRequest,
        frames: FrameBytes,
        *,
        model: str | None,
        known: Container[FrameUuid] = (),
    ) -> Body:
        """The body of ``request``.

        Args:
            request: messages and sampling.
            frames: gives a picture's bytes, asked once per picture while it stays in use.
            model: name of the served model; None leaves the choice to the server.
            known: pictures the server holds already; they go by uuid alone.

        Raises:
            BridgeError: a picture was released, or its bytes are not those of its uuid.
        """
        pieces = [self._opening(request.sampling, model)]
        in_use: dict[FrameUuid, bytes] = {}
        pictures = references = picture_bytes = 0
        for segment in request.messages:
            if not isinstance(segment, FrameRef):
                pieces.append(segment)
            elif segment.uuid in known:
                references += 1
                pieces.append(_NULL)
            else:
                encoded = in_use.get(segment.uuid) or self._encode(segment, frames)
                in_use[segment.uuid] = encoded
                pictures += 1
                picture_bytes += len(encoded)
                pieces.append(encoded)
        pieces.append(b"}")
        self._encoded = in_use
        return Body(b"".join(pieces), pictures, references, picture_bytes)

    def forget(self) -> None:
        """Drop the encoded pictures; the next body encodes its own again."""
        self._encoded = {}

    def _opening(self, sampling: SamplingParams, model: str | None) -> bytes:
        fields: dict[str, Any] = {} if model is None else {"model": model}
        fields |= {"stream": True, "stream_options": {"include_usage": True}}
        fields |= sampling_fields(sampling)
        if self._user is not None:
            fields["user"] = self._user
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        return text[:-1].encode("utf-8", errors="replace") + b',"messages":'

    def _encode(self, frame: FrameRef, frames: FrameBytes) -> bytes:
        if (kept := self._encoded.get(frame.uuid)) is not None:
            return kept
        try:
            data = frames(frame.uuid)
        except KeyError as error:
            raise BridgeError(
                "a picture of this prompt was released before it was sent",
                bridge=self._bridge,
                code="frame_released",
            ) from error
        # The engine trusts the uuid blindly: under a wrong one it would see another picture (C29).
        if hashlib.sha256(data).hexdigest() != frame.uuid:
            raise BridgeError(
                "a picture's uuid is not the sha256 of its bytes",
                bridge=self._bridge,
                code="frame_mismatch",
            )
        media_type = frame.media_type.encode("ascii")
        return b"".join((DATA_URL_OPEN, media_type, b";base64,", base64.b64encode(data), b'"}'))
