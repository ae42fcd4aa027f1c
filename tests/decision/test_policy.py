from __future__ import annotations

import pytest

from onlooker.decision import GENERIC, JOYVL, DedupJudge, GateConfig, GateVerdict, Policy
from onlooker.types import Ms

pytestmark = pytest.mark.pure

LINE = "A bicycle has appeared."


def policy(**config) -> Policy:
    return Policy(GateConfig(**config), GENERIC, has_structured_outputs=True)


def is_withheld(judge: DedupJudge) -> bool:
    return judge.feed(LINE) == "" and judge.finish()[0]


def test_it_gates_by_its_dialect():
    joyvl = Policy(GateConfig(), JOYVL)
    assert joyvl.dialect is JOYVL
    now = Ms(0)
    assert joyvl.gate(now, has_instruction=True, has_picture=False) is GateVerdict.NO_PICTURE
    assert policy().gate(now, has_instruction=True, has_picture=False) is GateVerdict.CALL
    assert policy().gate(now, has_instruction=False) is GateVerdict.NO_QUERY


def test_a_response_starts_the_cool_down_also_when_it_was_interrupted():
    rules = policy(response_cooldown_ms=2_000)
    rules.on_response_ended(LINE, Ms(1_000), fully_heard=False)
    assert rules.gate(Ms(1_500), has_instruction=True) is GateVerdict.COOL_DOWN
    assert rules.gate(Ms(3_000), has_instruction=True) is GateVerdict.CALL


def test_the_grammar_is_sent_only_where_the_server_has_one():
    assert policy().sampling().regex == GENERIC.regex
    assert policy().sampling(forced=True).regex == GENERIC.forced_regex
    assert Policy(GateConfig(), GENERIC).sampling(forced=True).regex is None
    joyvl = Policy(GateConfig(), JOYVL, has_structured_outputs=True)
    assert joyvl.sampling(forced=True) == joyvl.sampling() == JOYVL.tick_sampling


def test_only_a_fully_heard_line_is_a_repetition():
    rules = policy()
    rules.on_response_ended(LINE, Ms(0), fully_heard=False)
    assert not is_withheld(rules.judge(Ms(1)))
    rules.on_response_ended(LINE, Ms(0), fully_heard=True)
    assert is_withheld(rules.judge(Ms(1)))


def test_c13_query_force_and_delegated_answer_each_free_the_next_reply():
    for clear in ("on_query", "on_delegated_result", "forced"):
        rules = policy()
        rules.on_response_ended(LINE, Ms(0), fully_heard=True)
        if clear != "forced":
            getattr(rules, clear)()
        assert not is_withheld(rules.judge(Ms(1), forced=clear == "forced"))


def test_b21_a_genuine_silence_frees_a_line_after_the_cool_down():
    rules = policy(repeat_cooldown_ms=3_000)
    rules.on_response_ended(LINE, Ms(0), fully_heard=True)
    assert is_withheld(rules.judge(Ms(9_000)))
    rules.on_silence()
    assert is_withheld(rules.judge(Ms(2_999)))
    assert not is_withheld(rules.judge(Ms(3_000)))


def test_b17_a_question_is_delegated_once_until_the_user_asks_anew():
    rules = policy()
    assert rules.may_delegate("Who won?", Ms(0))
    rules.on_delegation_started("Who won?", Ms(0))
    assert not rules.may_delegate("Who won?", Ms(1_000))
    rules.on_delegated_result()
    assert not rules.may_delegate("Who won?", Ms(2_000))
    rules.on_query()
    assert rules.may_delegate("Who won?", Ms(2_000))
