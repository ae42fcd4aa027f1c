"""Events, commands and notices as canonical JSON.

The types are found in their closed unions, so a new one needs nothing here. A member of a union is
an object with its class name under ``type``, then its fields in the order they are declared;
values nested in a field carry no name, their type is the field's. Bytes never get in: the prompt
of a call is recorded as its digest, its length and its last message. Events and notices are read
back; commands are only ever compared.

Equal values have equal text, and text is always valid UTF-8: a lone surrogate that a client sent
is kept as its JSON escape.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from hashlib import sha256
from typing import Any, Final, Union, cast, get_args, get_origin, get_type_hints

from onlooker.errors import RecordingError
from onlooker.orchestrator.commands import Command
from onlooker.orchestrator.events import Event
from onlooker.orchestrator.notices import Notice
from onlooker.types import FrameRef, Segments

__all__ = [
    "COMMANDS",
    "EVENTS",
    "NOTICES",
    "decode_event",
    "decode_notice",
    "dumps",
    "encode",
    "parse_line",
]


def _by_name(union: object) -> Mapping[str, type]:
    return types.MappingProxyType({member.__name__: member for member in get_args(union)})


EVENTS: Final = _by_name(Event)
COMMANDS: Final = _by_name(Command)
NOTICES: Final = _by_name(Notice)
_NAMED: Final = frozenset((*EVENTS.values(), *COMMANDS.values(), *NOTICES.values()))
_MESSAGE_OPEN: Final = b'{"role":'
"""How each message of a canonical list begins; inside a text its quotes would be escaped."""


# -- out ------------------------------------------------------------------------------------------


def encode(value: Event | Command | Notice) -> dict[str, Any]:
    """The value as plain JSON types."""
    return _encode_object(value)


def dumps(data: object) -> str:
    """Canonical JSON text of plain data: compact, in the given order, encodable as UTF-8."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _encode_object(value: Any) -> dict[str, Any]:
    cls: type = type(value)
    data: dict[str, Any] = {"type": cls.__name__} if cls in _NAMED else {}
    prompts = _prompt_fields(cls)
    for name in _field_names(cls):
        field = getattr(value, name)
        data[name] = _digest(field) if name in prompts else _encode_value(field)
    return data


def _encode_value(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value.value if isinstance(value, StrEnum) else value
    if isinstance(value, tuple):
        return [_encode_value(item) for item in value]
    if dataclasses.is_dataclass(value):
        return _encode_object(value)
    raise AssertionError(f"a {type(value).__name__} cannot be recorded")


@cache
def _field_names(cls: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls))


@cache
def _prompt_fields(cls: type) -> frozenset[str]:
    hints = get_type_hints(cls)
    return frozenset(name for name, hint in hints.items() if hint == Segments)


def _digest(messages: Segments) -> dict[str, Any]:
    """A prompt in canonical form, small: a log of a long session must not hold every prompt."""
    canonical = [b"null" if isinstance(part, FrameRef) else part for part in messages]
    digest = sha256()
    for part in canonical:
        digest.update(part)
    return {
        "sha256": digest.hexdigest(),
        "length": sum(map(len, canonical)),
        "last": _last_message(canonical),
    }


def _last_message(canonical: list[bytes]) -> str:
    tail = b""
    for part in reversed(canonical):
        tail = part + tail
        start = tail.rfind(_MESSAGE_OPEN)
        if start >= 0:
            return tail[start:].removesuffix(b"]").decode("utf-8", "backslashreplace")
    return ""


# -- in -------------------------------------------------------------------------------------------

_Decoder = Callable[[Any], Any]


class _Mismatch(Exception):
    """What was read is not what the field holds."""


def parse_line(text: str, line: int) -> dict[str, Any]:
    """One line of a recording.

    Raises:
        RecordingError: it is not a JSON object; ``line`` is in the message.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"Line {line} of the recording is not JSON.") from error
    if not isinstance(data, dict):
        raise RecordingError(f"Line {line} of the recording is not a JSON object.")
    return data


def decode_event(data: object, line: int) -> Event:
    """The event that :func:`encode` made ``data`` of.

    Raises:
        RecordingError: it is none; ``line`` is in the message.
    """
    return cast(Event, _decode(data, EVENTS, "event", line))


def decode_notice(data: object, line: int) -> Notice:
    """The notice that :func:`encode` made ``data`` of; raises as :func:`decode_event` does."""
    return cast(Notice, _decode(data, NOTICES, "notice", line))


def _decode(data: object, known: Mapping[str, type], what: str, line: int) -> object:
    name = data.get("type") if isinstance(data, dict) else None
    cls = known.get(name) if isinstance(name, str) else None
    if cls is None:
        raise RecordingError(f"Line {line} of the recording holds no {what} known here.")
    try:
        return _object_decoder(cls)(data)
    except _Mismatch as error:
        reason = f"its {error} does not fit"
        raise RecordingError(f"Line {line} of the recording: {name}: {reason}.") from error


@cache
def _object_decoder(cls: type) -> _Decoder:
    hints = get_type_hints(cls)
    decoders = {name: _value_decoder(hints[name]) for name in _field_names(cls)}
    allowed = frozenset(decoders) | ({"type"} if cls in _NAMED else set())

    def decode(data: Any) -> Any:
        if not isinstance(data, dict) or not allowed.issuperset(data):
            raise _Mismatch("set of fields")
        values = {}
        for name, decoder in decoders.items():
            if name in data:
                values[name] = _decode_field(name, decoder, data[name])
        try:
            return cls(**values)
        except TypeError as error:
            raise _Mismatch("set of fields") from error

    return decode


def _decode_field(name: str, decoder: _Decoder, data: Any) -> Any:
    try:
        return decoder(data)
    except _Mismatch as error:
        raise _Mismatch(f"field {name}") from error


def _value_decoder(hint: Any) -> _Decoder:
    hint = getattr(hint, "__supertype__", hint)  # a NewType is its base
    if get_origin(hint) in (types.UnionType, Union):
        return _optional_decoder(hint)
    if get_origin(hint) is tuple:
        return _tuple_decoder(get_args(hint)[0])
    if dataclasses.is_dataclass(hint):
        return _object_decoder(cast(type, hint))
    if issubclass(hint, StrEnum):
        return _enum_decoder(hint)
    return _plain_decoder(hint)


def _optional_decoder(hint: Any) -> _Decoder:
    inner, none = get_args(hint)
    if none is not type(None):
        raise AssertionError(f"{hint} cannot be recorded: name the type of the field")
    decode = _value_decoder(inner)
    return lambda data: None if data is None else decode(data)


def _tuple_decoder(item: Any) -> _Decoder:
    decode = _value_decoder(item)

    def decode_items(data: Any) -> tuple[Any, ...]:
        if not isinstance(data, list):
            raise _Mismatch("list")
        return tuple(map(decode, data))

    return decode_items


def _enum_decoder(enum: type[StrEnum]) -> _Decoder:
    def decode(data: Any) -> StrEnum:
        try:
            return enum(data)
        except ValueError as error:
            raise _Mismatch("value") from error

    return decode


def _plain_decoder(plain: type) -> _Decoder:
    def decode(data: Any) -> Any:
        if type(data) is not plain:  # True is no int here
            raise _Mismatch("value")
        return data

    return decode
