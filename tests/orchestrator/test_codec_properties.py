"""Every event, command and notice there is, found in the unions, goes out and comes back."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker.errors import RecordingError
from onlooker.orchestrator.codec import (
    COMMANDS,
    EVENTS,
    NOTICES,
    decode_event,
    decode_notice,
    dumps,
    encode,
    parse_line,
)

pytestmark = pytest.mark.pure

FEW = settings(max_examples=25)
TEXT = st.text(st.characters(exclude_categories=[]), max_size=20)
"""Lone surrogates included: a client can send them."""
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: st.integers(),
    float: st.floats(),
    str: TEXT,
    bytes: st.binary(max_size=20),
    type(None): st.none(),
}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field of that type; of a dataclass, with every field drawn."""
    hint = getattr(hint, "__supertype__", hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if get_origin(hint) in (types.UnionType, Union):
        return st.one_of(*map(values, get_args(hint)))
    if get_origin(hint) is tuple:
        return st.lists(values(get_args(hint)[0]), max_size=4).map(tuple)
    if issubclass(hint, StrEnum):
        return st.sampled_from(hint)
    hints = get_type_hints(hint)
    return st.builds(hint, **{f.name: values(hints[f.name]) for f in dataclasses.fields(hint)})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def refused_with(line: int, read: Callable[[], Any]) -> Any:
    """What ``read`` gives; None when it refuses, which it must do with the line."""
    try:
        return read()
    except RecordingError as error:
        if f"Line {line} " not in error.message:
            raise
        return None


@FEW
@pytest.mark.parametrize("cls", EVENTS.values())
@given(data=st.data())
def test_each_event_comes_back_equal(cls: type, data: st.DataObject) -> None:
    event = data.draw(values(cls))
    text = dumps(encode(event))
    back = decode_event(parse_line(text, 1), 1)
    assert back == event
    assert type(back) is cls
    assert dumps(encode(back)) == text


@FEW
@pytest.mark.parametrize("cls", NOTICES.values())
@given(data=st.data())
def test_each_notice_comes_back_equal(cls: type, data: st.DataObject) -> None:
    notice = data.draw(values(cls))
    text = dumps(encode(notice))
    assert decode_notice(parse_line(text, 1), 1) == notice


@FEW
@pytest.mark.parametrize("cls", COMMANDS.values())
@given(data=st.data())
def test_each_command_is_one_line_of_valid_utf8(cls: type, data: st.DataObject) -> None:
    command = data.draw(values(cls))
    text = dumps(encode(command))
    assert "\n" not in text
    assert text.encode("utf-8").decode("utf-8") == text
    assert json.loads(text)["type"] == cls.__name__
    assert dumps(encode(dataclasses.replace(command))) == text


@given(JSON, st.sampled_from([*EVENTS, "Nothing"]), st.integers(1, 99))
def test_garbage_is_refused_with_its_line_or_is_an_event(data: Any, name: str, line: int) -> None:
    if isinstance(data, dict):
        data = {"type": name, **data}
    event = refused_with(line, lambda: decode_event(data, line))
    assert event is None or type(event).__name__ == name


@given(st.sampled_from(list(EVENTS.values())).flatmap(values), st.data())
def test_an_event_with_one_damaged_field_never_passes_unseen(
    event: Any, data: st.DataObject
) -> None:
    fields = encode(event)
    field = data.draw(st.sampled_from(sorted(fields)))
    damaged = {**fields, field: data.draw(JSON)}
    back = refused_with(7, lambda: decode_event(damaged, 7))
    assert back is None or says_no_more(damaged, encode(back))


def says_no_more(read: Any, kept: Any) -> bool:
    """True when all of ``read`` is in ``kept``, which may have defaults besides."""
    if isinstance(read, dict) and isinstance(kept, dict):
        return all(key in kept and says_no_more(read[key], kept[key]) for key in read)
    return bool(read == kept and type(read) is type(kept))


@given(st.text(max_size=40), st.integers(1, 99))
def test_a_line_that_is_no_object_is_refused_with_its_number(text: str, line: int) -> None:
    data = refused_with(line, lambda: parse_line(text, line))
    assert data is None or isinstance(data, dict)
