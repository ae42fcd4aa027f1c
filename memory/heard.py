"""Heard text: what a response's playback changes in memory (design §6).

:func:`commit`, :func:`hear`, :func:`settle` and :func:`freeze` are the life of a reply; see
``replies.py`` for where its words are at each stage.
"""

from __future__ import annotations

from onlooker.memory.entries import HeardFact
from onlooker.memory.replies import Reply, canonical_heard
from onlooker.memory.store import Store
from onlooker.types import Ms, ResponseId


def commit(store: Store, reply: Reply, at_ms: Ms) -> None:
    """A response of the tick at ``at_ms`` begins to be heard."""
    for old in store.replies.add(reply, at_ms):
        freeze(store, old.response_id)


def hear(store: Store, response_id: ResponseId, chars: int) -> None:
    """Playback went on; never backwards, never past the end, nothing once settled."""
    reply = store.replies.get(response_id)
    if reply is not None and not reply.is_settled:
        reply.heard = max(reply.heard, reply.clamp(chars))


def settle(store: Store, response_id: ResponseId, chars: int, *, is_interrupted: bool) -> None:
    """Playback ended; an interrupted response may be settled again until it is frozen."""
    reply = store.replies.get(response_id)
    if reply is None:
        return
    reply.heard, reply.is_settled = reply.clamp(chars), True
    _show(store, reply)
    if not is_interrupted:
        freeze(store, response_id)


def freeze(store: Store, response_id: ResponseId) -> None:
    """The reply is final: late words become one fact."""
    reply = store.replies.get(response_id)
    if reply is None:
        return
    if not reply.is_settled:
        reply.is_settled = True
        _show(store, reply)
    store.replies.forget(response_id)
    store.history.qa.purge(response_id)
    is_read_out = not reply.canonical
    if is_read_out and not reply.is_whole:
        _stage(store, reply, reply.heard_text())
    elif not is_read_out and reply.archived is not None:
        _stage(store, reply, reply.rest())


def _show(store: Store, reply: Reply) -> None:
    """Puts what was heard where the reply's words are shown."""
    mark = store.text.interrupted_mark
    if reply.archived is not None:
        store.history.qa.correct(reply.response_id, reply.archived_text(mark))
        return
    place = store.chunk.find(reply.response_id)
    if place is not None:
        spoken = reply.spoken if reply.is_whole else reply.heard_text(mark)
        store.chunk.rewrite(place, canonical_heard(reply, store.text), spoken)


def _stage(store: Store, reply: Reply, words: str) -> None:
    if words:
        interrupted = not reply.is_whole
        at_ms = Ms(store.last_ms)
        store.stage(HeardFact(reply.response_id, words, at_ms, interrupted))
