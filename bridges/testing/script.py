"""What the scripted fakes share: strictness, and failing or hanging on demand."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, TypeAlias, TypeVar

from onlooker.bridges.boundary import Code
from onlooker.errors import BridgeError, BridgeUnavailable

T = TypeVar("T")

Sleep: TypeAlias = Callable[[float], Awaitable[object]]


class UnexpectedCall(AssertionError):
    """A fake was called more often than its script says."""


class Script(Generic[T]):
    """The answers of one fake, each given once and in order."""

    def __init__(self, bridge: str, answers: Iterable[T]) -> None:
        self._bridge = bridge
        self._left = deque(answers)
        self._given = 0
        self._is_closed = False

    @property
    def left(self) -> int:
        """Answers not asked for yet."""
        return len(self._left)

    def add(self, *answers: T) -> None:
        self._left.extend(answers)

    def take(self) -> T:
        """The next answer.

        Raises:
            UnexpectedCall: there is none; the test did not expect this call.
            BridgeUnavailable: the fake was closed.
        """
        self.check_open()
        if not self._left:
            raise UnexpectedCall(
                f"the scripted {self._bridge} has {self._given} answers and was asked once more"
            )
        self._given += 1
        return self._left.popleft()

    def check_open(self) -> None:
        if self._is_closed:
            raise BridgeUnavailable(
                f"the {self._bridge} bridge is closed — make a new one",
                bridge=self._bridge,
                code=Code.CLOSED.value,
                retryable=False,
            )

    def close(self) -> None:
        self._is_closed = True

    def check_used_up(self) -> None:
        """Fails when answers were never asked for; call it at the end of a test."""
        if self._left:
            raise AssertionError(
                f"the scripted {self._bridge} was not asked for {len(self._left)} of its answers"
            )


async def hang() -> None:
    """Never returns; cancellation ends it."""
    await asyncio.get_running_loop().create_future()


def fresh(error: BridgeError) -> BridgeError:
    """An error of the same kind, so that one script entry can be raised more than once."""
    copy = type(error).__new__(type(error))
    copy.__dict__.update(error.__dict__)
    copy.args = error.args
    return copy
