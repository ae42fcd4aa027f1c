"""An asyncio event loop whose clock is virtual: waiting costs no time, and a deadlock is an error.

``loop.time()`` stands still while anything can run and jumps to the next timer when nothing can.
Work handed to a thread is waited for in real time, with the virtual clock standing still, so the
order of events stays the same on a slow machine. A test asks for it with
``@pytest.mark.virtual_time``; a plain function can use :func:`run_virtual`.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

THREAD_PATIENCE_S = 30.0
"""Real seconds a thread may take before the run counts as stuck."""


class VirtualDeadlock(AssertionError):
    """Nothing is ready, no timer is set and no thread is at work: the loop would wait for ever."""


class _VirtualSelector(selectors.BaseSelector):
    """Polls the real selector and, where asyncio would sleep, moves the clock instead."""

    def __init__(self) -> None:
        self._real = selectors.DefaultSelector()
        self.now_s = 0.0
        self.threads_at_work = 0
        self.describe = lambda: ""

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        # The loop's own wake-up pipe is the first; anything else is a socket or a pipe.
        if len(self._real.get_map()) >= 1:
            raise AssertionError("virtual time and real sockets do not mix: use a fake transport")
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if self.threads_at_work:
            ready = self._real.select(THREAD_PATIENCE_S)
            if not ready:
                raise VirtualDeadlock(f"a thread did not return in {THREAD_PATIENCE_S} s")
            return ready
        if timeout is None:
            raise VirtualDeadlock(f"deadlock at {self.now_s:.3f} s: {self.describe()}")
        self.now_s += timeout
        return []


class VirtualClockLoop(asyncio.SelectorEventLoop):
    """Event loop on virtual time, which begins at 0."""

    def __init__(self) -> None:
        self._virtual = _VirtualSelector()
        super().__init__(self._virtual)
        self._virtual.describe = self._waiting_tasks
        # Timers within this of each other fire together; real loops use the clock's resolution.
        self._clock_resolution = 1e-9

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._virtual.now_s

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        self._virtual.threads_at_work += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._thread_returned)
        return future

    async def shutdown_default_executor(self, *args: Any, **kwargs: Any) -> None:
        self._virtual.threads_at_work += 1
        try:
            await super().shutdown_default_executor(*args, **kwargs)
        finally:
            self._virtual.threads_at_work -= 1

    def _thread_returned(self, _: object) -> None:
        self._virtual.threads_at_work -= 1

    def _waiting_tasks(self) -> str:
        tasks = sorted(
            f"{task.get_name()} in {getattr(task.get_coro(), '__qualname__', '?')}"
            for task in asyncio.all_tasks(self)
        )
        return f"{len(tasks)} tasks wait for ever ({', '.join(tasks)})"


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a fresh virtual loop and close it."""
    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        return runner.run(main)
