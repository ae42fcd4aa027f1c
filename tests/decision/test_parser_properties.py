from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.decision import (
    GENERIC,
    JOYVL,
    ActionDecided,
    ActionKind,
    Delegate,
    QuestionText,
    ReplyEnded,
    ReplyParser,
    Respond,
    Silence,
    SpeechText,
    canonical,
    kind_of,
    neutralise,
)
from onlooker.decision.markers import OPENING, Marker, scan
from tests.decision.replies import MARKERS, merged, parse, question, replies, speech, split_replies

pytestmark = pytest.mark.pure

words = st.text(max_size=40).map(lambda text: neutralise(text).strip())


def holds_marker(text: str) -> bool:
    return any(isinstance(scan(text, one.start())[0], Marker) for one in OPENING.finditer(text))


@given(split_replies(), st.booleans())
def test_any_split_gives_the_same_events(deltas, cut):
    assert merged(parse(*deltas, cut=cut)) == merged(parse("".join(deltas), cut=cut))


@given(replies, st.booleans())
def test_one_character_at_a_time_gives_the_same_events(text, cut):
    assert merged(parse(*text, cut=cut)) == merged(parse(text, cut=cut))


@given(st.text(), st.booleans())
def test_it_never_raises_and_always_ends(text, cut):
    events = parse(text, cut=cut)
    assert isinstance(events[-1], ReplyEnded)
    assert sum(isinstance(one, ActionDecided) for one in events) == 1
    assert sum(isinstance(one, ReplyEnded) for one in events) == 1


@given(split_replies(), st.booleans())
def test_j24_no_marker_ever_leaks_into_what_is_spoken_or_asked(deltas, cut):
    events = parse(*deltas, cut=cut)
    assert not holds_marker(speech(events))
    assert not holds_marker(question(events))


def decides_on_time(parser: ReplyParser, text: str) -> bool:
    """The decision comes with the character that closes the first marker."""
    seen = ""
    for char in text:
        seen += char
        if any(isinstance(one, ActionDecided) for one in parser.feed(char)):
            ends = [scan(seen, one.start()) for one in OPENING.finditer(seen)]
            return any(isinstance(what, Marker) and end == len(seen) for what, end in ends)
    return parser.kind is None


class Hasty(ReplyParser):
    """Guesses the action as soon as a marker looks like one."""

    def feed(self, text):
        events = super().feed(text)
        if self.kind is None and text.lower() == "r":
            return (ActionDecided(ActionKind.RESPOND),)
        return events


@given(split_replies())
def test_nothing_is_decided_before_a_marker_is_whole(deltas):
    assert decides_on_time(ReplyParser(), "".join(deltas))


def test_the_check_catches_a_parser_that_decides_too_early():
    assert decides_on_time(ReplyParser(), "</response> Hello.")
    assert not decides_on_time(Hasty(), "</response> Hello.")


@given(st.sampled_from(MARKERS), st.booleans())
def test_no_proper_prefix_of_a_marker_decides(marker, cut):
    for end in range(len(marker)):
        parser = ReplyParser()
        assert parser.feed(marker[:end]) == ()
        assert parser.finish(cut=cut)[0] == ActionDecided(ActionKind.SILENCE)


@given(split_replies(), st.booleans())
def test_the_end_agrees_with_what_streamed(deltas, cut):
    events = parse(*deltas, cut=cut)
    decided = next(one.kind for one in events if isinstance(one, ActionDecided))
    ended = events[-1]
    assert isinstance(ended, ReplyEnded)
    match ended.action:
        case Silence():
            assert speech(events) == question(events) == ""
        case Respond(text):
            assert (speech(events), question(events)) == (text, "")
            assert text == text.strip() != ""
        case Delegate(note, asked):
            assert (speech(events), question(events)) == (note, asked)
            assert asked == asked.strip() != ""
    if decided is ActionKind.SILENCE:
        assert isinstance(ended.action, Silence)
    order = [type(one) for one in merged(events)]
    assert order == [
        kind for kind in (ActionDecided, SpeechText, QuestionText, ReplyEnded) if kind in order
    ]


@given(split_replies())
def test_b22_a_cut_reply_never_asks_more_than_the_whole_one(deltas):
    if question(parse(*deltas, cut=True)):
        assert question(parse(*deltas, cut=True)) == question(parse(*deltas, cut=False))


@given(st.sampled_from([JOYVL, GENERIC]), words, words)
def test_canonical_replies_are_read_back_as_they_were_meant(dialect, note, asked):
    note = re.sub(r"\r\n?", "\n", note)
    asked = re.sub(r"\r\n?", "\n", asked)
    action: Silence | Respond | Delegate = Silence()
    if asked and not asked.startswith("{"):
        action = Delegate(note, asked)
    elif note:
        action = Respond(note)
    ended = parse(canonical(action, dialect.text))[-1]
    if note and not note.strip("<["):  # a lone bracket before a marker is the one thing not kept
        return
    assert ended == ReplyEnded(action)
    assert kind_of(action) is not None


@given(split_replies())
def test_after_the_end_it_is_deaf(deltas):
    parser = ReplyParser()
    for delta in deltas:
        parser.feed(delta)
    parser.finish(cut=False)
    assert parser.feed("</response> more") == ()
    assert parser.finish(cut=False) == ()
