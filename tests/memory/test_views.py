from __future__ import annotations

import json

import pytest

from onlooker.memory import Memory, QueryFact
from onlooker.types import InstructionId, Lifetime, Ms
from tests.memory.words import WORDLESS, WORDY, Talk, make

pytestmark = pytest.mark.pure


def test_views_of_a_fresh_memory():
    memory = make()
    assert memory.config.chunk_frames == 10
    assert (memory.head, memory.tail, memory.standing, memory.staged) == ("", (), (), ())
    assert memory.is_gated
    assert memory.chunk == 0
    assert memory.text is WORDY
    assert memory.frames_in_use() == set()
    memory.integrity()


def test_the_open_tick_is_the_last_of_the_tail():
    talk = Talk()
    talk.tick()
    tick, _ = talk.begin()
    assert talk.memory.tail[-1] == tick
    assert len(talk.memory.tail) == 2
    assert not talk.memory.is_gated


def test_marks_are_not_facts():
    talk = Talk(make(text=WORDLESS))
    talk.ask("i1", "new")
    assert all(isinstance(fact, QueryFact) for fact in talk.memory.staged)
    assert len(talk.memory.staged) == 2


def test_a_view_is_plain_json_of_all_tiers():
    talk = Talk()
    talk.ticks(8)
    talk.summarise()
    talk.ticks(3)
    talk.ask("i1", "staged")
    talk.begin()
    view = talk.memory.view()
    assert json.loads(json.dumps(view)) == view
    assert [span["text"] for span in view["mid_term"]] == ["summary chunk-1-1"]  # type: ignore[attr-defined]
    assert view["standing"][0]["text"] == "watch"  # type: ignore[index]
    assert view["short_term"][-1]["facts"][0]["kind"] == "query"  # type: ignore[index]
    assert view["cut_ticks"] is None


def test_the_gauge_tells_measured_tokens_where_they_are_known():
    from onlooker.types import Usage

    talk = Talk()
    talk.begin()
    estimated = talk.memory.gauge().prompt_tokens
    talk.memory.on_usage(Usage(1_234, 5), frames=1, chars=1_700)
    assert talk.memory.gauge().prompt_tokens == 1_234 != estimated
    talk.memory.commit_tick(WORDY.silence)
    assert talk.memory.gauge().prompt_tokens != 1_234
    assert talk.memory.gauge().chunk_frames == 1


def test_standing_is_what_is_armed_now():
    memory: Memory = make()
    memory.arm(InstructionId("i"), "a", Lifetime(), Ms(0), urgent=True)
    assert [(one.text, one.urgent) for one in memory.standing] == [("a", True)]
