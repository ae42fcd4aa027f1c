"""The error tree: stable codes, one line, and what a retry can help."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from onlooker import errors
from onlooker.errors import BridgeError, BridgeRejected, BridgeTimeout, OnlookerError

pytestmark = pytest.mark.pure


def tree(root: type[OnlookerError]) -> Iterator[type[OnlookerError]]:
    yield root
    for child in root.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from tree(child)


ALL = list(tree(OnlookerError))


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_each_error_has_a_code_and_is_exported(kind: type[OnlookerError]) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.code)
    assert kind.__name__ in errors.__all__


def test_the_docstring_shows_the_whole_tree() -> None:
    drawn = set(re.findall(r"\b[A-Z][A-Za-z]+\b(?=[ \n(])", errors.__doc__ or ""))
    assert {kind.__name__ for kind in ALL} <= drawn


def test_codes_tell_errors_apart() -> None:
    leaves = [kind.code for kind in ALL if not kind.__subclasses__()]
    assert len(leaves) == len(set(leaves))


def test_a_refined_code_replaces_the_code_of_one_error_only() -> None:
    refined = OnlookerError("the model is not there", code="model_not_found")
    assert (refined.code, refined.message) == ("model_not_found", "the model is not there")
    assert OnlookerError.code == "internal_error"


def test_bridge_errors_say_which_bridge_and_whether_a_retry_can_help() -> None:
    assert BridgeTimeout("too slow", bridge="model").retryable
    assert not BridgeTimeout("too slow", bridge="model", retryable=False).retryable
    refused = BridgeRejected("no", bridge="model", status=429, retryable=True)
    assert (refused.status, refused.bridge, refused.retryable) == (429, "model", True)
    assert isinstance(refused, BridgeError)
