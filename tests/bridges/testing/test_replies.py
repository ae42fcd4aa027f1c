"""What the fake says when nobody scripts it, and how a script and a grammar change that."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.bridges.testing.fakevllm.config import SPECIAL_TOKENS, FakeConfig
from onlooker.bridges.testing.fakevllm.replies import (
    constrained,
    default_reply,
    generate,
    scripted,
    stop_at,
)
from onlooker.bridges.testing.fakevllm.request import FakeRequest, parse_request
from onlooker.decision import dialect, summary_prompt, system_prompt
from onlooker.memory.entries import SummaryRequest
from onlooker.types import Ms

pytestmark = pytest.mark.pure

DIALECTS = ("joyvl", "generic")


def asked(system: str, *users: str | list[str], **fields: Any) -> FakeRequest:
    messages: list[Any] = [{"role": "system", "content": system}]
    for user in users:
        texts = [user] if isinstance(user, str) else user
        parts = [{"type": "text", "text": text} for text in texts]
        messages.append({"role": "user", "content": parts})
    return parsed({"messages": messages, **fields})


def parsed(body: dict[str, Any]) -> FakeRequest:
    data = json.dumps(body).encode()
    return parse_request(data, {}, ("127.0.0.1", 1), FakeConfig()).request


@pytest.mark.parametrize("name", DIALECTS)
def test_it_is_silent_in_the_spelling_of_the_prompt(name: str) -> None:
    spoken = dialect(name)
    system = system_prompt(spoken, "default")
    assert default_reply(asked(system, "hello")) == spoken.text.silence


@pytest.mark.parametrize("name", DIALECTS)
def test_cues_in_the_last_message_make_it_speak(name: str) -> None:
    spoken = dialect(name)
    system = system_prompt(spoken, "default")
    words = spoken.text
    assert default_reply(asked(system, "x", "please #respond")) == words.respond.format(
        text="I see a change now."
    )
    assert default_reply(asked(system, "#delegate")) == words.delegate.format(
        note="Let me find out.", question="Look up the answer"
    )
    assert default_reply(asked(system, "#respond", "x")) == words.silence


def test_a_cue_in_the_history_of_the_head_is_old() -> None:
    head = "[Q&A History]\n#1 [Query@1.0 seconds] #respond"
    assert default_reply(asked("</silence>", [head, "<9.0 seconds>"])) == "</silence>"


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("kind", ["chunk", "block"])
def test_notes_are_written_when_our_prompts_ask_for_them(name: str, kind: str) -> None:
    request = SummaryRequest(
        job_id="s0", kind=kind, attempt=1, start_ms=Ms(0), end_ms=Ms(9_000), ticks=(),
        texts=((Ms(0), Ms(9_000), "notes"),), instructions=(),
    )  # fmt: skip
    messages, _ = summary_prompt(dialect(name), request)
    body = json.loads(b"".join(one for one in messages if isinstance(one, bytes)))
    found = parsed({"messages": body})
    assert found.is_summary
    assert default_reply(found).startswith("From 0.0 to 9.0 seconds, 0 pictures")


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("persona", ["default", "silent", "talkative"])
def test_our_personas_are_not_taken_for_summaries(name: str, persona: str) -> None:
    system = system_prompt(dialect(name), persona)
    assert not asked(system, "What now?").is_summary


def test_a_script_is_for_decisions_only_and_ends_in_the_default() -> None:
    reply = scripted(["one", "two"])
    tick = asked("</silence>", "x")
    notes = asked("Write notes.", "Now write the notes for this stretch.")
    assert reply(tick) == "one"
    assert "nothing that matters" in reply(notes)
    assert reply(tick) == "two"
    assert reply(tick) == "</silence>"


def with_regex(regex: str) -> FakeRequest:
    return asked("[SILENCE] or [RESPOND]", "x", structured_outputs={"regex": regex})


def test_a_grammar_is_kept() -> None:
    generic = dialect("generic")
    assert generic.regex is not None
    assert generic.forced_regex is not None
    free, forced = with_regex(generic.regex), with_regex(generic.forced_regex)
    assert constrained("[SILENCE]", free) == "[SILENCE]"
    assert constrained("hello there", free) == "[RESPOND] hello there"
    assert constrained("[SILENCE]", forced) == "[RESPOND] Nothing has changed."
    assert constrained("anything", asked("s", "x")) == "anything"
    assert constrained("x", with_regex("[0-9]+")) is None


def test_choices_are_a_grammar_too() -> None:
    request = asked("s", "x", structured_outputs={"choice": ["yes.", "no"]})
    assert constrained("yes.", request) == "yes."
    assert constrained("yes!", request) is None


@given(st.text(max_size=60))
def test_tokens_join_to_the_text(text: str) -> None:
    made = generate(text, special=SPECIAL_TOKENS, skips_special=False, max_tokens=1_000)
    assert "".join(made.pieces) == text


def test_c32_special_tokens_are_left_out_when_they_are_skipped() -> None:
    text = "</response> hi </delegation> q"
    kept = generate(text, special=SPECIAL_TOKENS, skips_special=False, max_tokens=99)
    skipped = generate(text, special=SPECIAL_TOKENS, skips_special=True, max_tokens=99)
    assert "".join(kept.pieces) == text
    assert "".join(skipped.pieces) == " hi  q"
    assert skipped.sampled == kept.sampled
    assert kept.pieces[0] == "</response>"


def test_ordinary_markers_are_several_tokens() -> None:
    made = generate("[SILENCE]", special=SPECIAL_TOKENS, skips_special=True, max_tokens=99)
    assert len(made.pieces) > 2
    assert "".join(made.pieces) == "[SILENCE]"


def test_too_many_tokens_are_cut() -> None:
    made = generate("a b c", special=(), skips_special=True, max_tokens=2)
    assert ("".join(made.pieces), made.finish_reason) == ("a b", "length")
    exact = generate("a b c", special=(), skips_special=True, max_tokens=3)
    assert exact.finish_reason == "stop"


def test_a_stop_token_ends_the_reply_before_it() -> None:
    made = generate("</silence>", special=SPECIAL_TOKENS, skips_special=False, max_tokens=9)
    stopped = stop_at(made, SPECIAL_TOKENS, [151_669])
    assert ("".join(stopped.pieces), stopped.stop_reason) == ("", 151_669)
    assert stop_at(made, SPECIAL_TOKENS, [151_670]) == made
