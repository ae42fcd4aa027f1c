from __future__ import annotations

import pytest

from onlooker.decision import (
    ActionDecided,
    ActionKind,
    Delegate,
    Malformed,
    QuestionText,
    ReplyEnded,
    ReplyParser,
    Respond,
    Silence,
    SpeechText,
)
from tests.decision.replies import parse, speech

pytestmark = pytest.mark.pure


def ended(*deltas: str, cut: bool = False) -> ReplyEnded:
    last = parse(*deltas, cut=cut)[-1]
    assert isinstance(last, ReplyEnded)
    return last


@pytest.mark.parametrize(
    ("reply", "action", "malformed"),
    [
        ("", Silence(), None),
        (" \n", Silence(), None),
        ("</silence>", Silence(), None),
        ("[SILENCE]", Silence(), None),
        ("</silence>\n", Silence(), None),
        ("</response> hi", Respond("hi"), None),
        ("</response>hi", Respond("hi"), None),
        ("<response>hi</response>", Respond("hi"), None),
        ("[RESPOND] hi", Respond("hi"), None),
        (" </RESPONSE> hi", Respond("hi"), None),
        ("</response></response> hi", Respond("hi"), None),
        ("</response> n </delegation> q?", Delegate("n", "q?"), None),
        ("</response> n <delegation> q?", Delegate("n", "q?"), None),
        ("[RESPOND] n [DELEGATE] q?", Delegate("n", "q?"), None),
        ("</delegation>Look up the answer", Delegate("", "Look up the answer"), None),
        ('</response> n <|background_call|> {"query": "Who?"}', Delegate("n", "Who?"), None),
        ("<think>\n\n</think>\n\n</silence>", Silence(), None),
        ("<think>Shall I </response> now?</think>[RESPOND] Now.", Respond("Now."), None),
        ("<|im_start|></response> hi<|im_end|>", Respond("hi"), None),
        ("</response> hi</s>", Respond("hi"), None),
        ("</think></silence>", Silence(), None),
        # what is not as it should be
        ("hi", Silence(), Malformed.UNMARKED),
        ("silence", Silence(), Malformed.UNMARKED),
        ("</silenc", Silence(), Malformed.UNMARKED),
        ("<think>hm", Silence(), Malformed.UNMARKED),
        ("Sure: </response> hi", Respond("hi"), Malformed.LEADING_TEXT),
        ("</silence> hi", Silence(), Malformed.TRAILING_TEXT),
        ("<response>hi</response> and more", Respond("hi"), Malformed.TRAILING_TEXT),
        ("</response> hi <|im_end|>\nuser", Respond("hi"), Malformed.TRAILING_TEXT),
        ("</response> hi <think> no", Respond("hi"), Malformed.TRAILING_TEXT),
        ("</response>", Silence(), Malformed.EMPTY_RESPONSE),
        ("</response> </silence>", Silence(), Malformed.EMPTY_RESPONSE),
        ("</response> n </delegation>", Respond("n"), Malformed.EMPTY_QUESTION),
        ("</delegation> ", Silence(), Malformed.EMPTY_QUESTION),
    ],
)  # fmt: skip
def test_replies(reply, action, malformed):
    assert ended(reply) == ReplyEnded(action, malformed)
    assert ended(*reply) == ReplyEnded(action, malformed)


def test_the_action_is_decided_at_the_marker_and_speech_streams_from_there():
    parser = ReplyParser()
    assert parser.feed("</respon") == ()
    assert parser.feed("se>") == (ActionDecided(ActionKind.RESPOND),)
    assert parser.feed(" The") == (SpeechText("The"),)
    assert parser.feed(" cat ") == (SpeechText(" cat"),)
    assert parser.feed("is here. ") == (SpeechText(" is here."),)
    assert parser.feed("</deleg") == ()
    assert parser.feed("ation> Why") == ()
    assert parser.feed("?") == ()
    assert parser.finish(cut=False) == (
        QuestionText("Why?"),
        ReplyEnded(Delegate("The cat is here.", "Why?")),
    )


def test_silence_is_decided_at_its_marker_so_that_the_call_can_be_aborted():
    parser = ReplyParser()
    assert parser.feed("[SILENCE]") == (ActionDecided(ActionKind.SILENCE),)
    assert parser.kind is ActionKind.SILENCE
    assert parser.feed(" because nothing happens") == ()


def test_b17_b18_well_formed_delegation_tags_ask_the_question():
    assert ended("</response> n <delegation>Who won?</delegation>").action == Delegate(
        "n", "Who won?"
    )
    assert ended("<delegation>Who won?</delegation> later").action == Delegate("", "Who won?")
    assert ended("</delegation></delegation> Who won?").action == Delegate("", "Who won?")
    assert ended("</response> n </delegation> q </response>").action == Delegate("n", "q")


def test_b19_unmarked_garbage_is_silence_and_counted():
    for garbage in ("lorem ipsum", "[1] see above", "silence>", "< 5", "\ufffd\ufffd"):
        assert ended(garbage) == ReplyEnded(Silence(), Malformed.UNMARKED)


def test_b19_other_spellings_of_silence_are_silence():
    for spelling in ("<silence>", "<Silence/>", "[silence]", "【silence】"):
        assert ended(spelling) == ReplyEnded(Silence())


def test_b19_all_lines_of_an_answer_are_kept_and_tags_inside_are_not_spoken():
    events = parse("</response> Two things:\r\n1. a cat\r2. a dog\n\n</silence>")
    assert speech(events) == "Two things:\n1. a cat\n2. a dog"
    assert "</" not in speech(events)


def test_b20_an_empty_response_is_silence():
    assert ended("</response>") == ReplyEnded(Silence(), Malformed.EMPTY_RESPONSE)
    assert ended("</response> \n ") == ReplyEnded(Silence(), Malformed.EMPTY_RESPONSE)


def test_b22_a_question_cut_by_the_token_limit_is_not_asked():
    cut = "</response> I will look that up. </delegation> How many people live in"
    assert ended(cut, cut=True) == ReplyEnded(
        Respond("I will look that up."), Malformed.CUT_QUESTION
    )
    assert ended("</delegation> How many", cut=True) == ReplyEnded(
        Silence(), Malformed.CUT_QUESTION
    )
    assert not any(isinstance(one, QuestionText) for one in parse(cut, cut=True))


def test_b22_a_question_that_was_closed_before_the_limit_is_asked():
    assert ended("<delegation>Who won?</delegation> and", cut=True).action == Delegate(
        "", "Who won?"
    )


def test_b22_a_reply_cut_inside_a_marker_speaks_nothing_of_it():
    assert ended("</response> I will see. </dele", cut=True) == ReplyEnded(Respond("I will see."))
    assert ended("</response> I will see. <", cut=True) == ReplyEnded(Respond("I will see."))


def test_c32_markers_kept_stripped_split_and_doubled():
    assert ended("").action == Silence()
    assert ended("</silence>").action == Silence()
    assert ended("</response> hi").action == Respond("hi")
    assert ended(" hi") == ReplyEnded(Silence(), Malformed.UNMARKED)
    assert ended(" </RESPONSE>").action == Silence()
    assert ended("</resp", "onse", "> h", "i").action == Respond("hi")
    assert ended("</silence></response> hi").action == Silence()
    assert ended("</response> hi</silence>").action == Respond("hi")


def test_j23_a_silence_marker_after_words_does_not_hide_them():
    assert ended("</response> Watch out! </silence>") == ReplyEnded(
        Respond("Watch out!"), Malformed.EXTRA_MARKER
    )


def test_j24_no_template_token_is_spoken():
    assert ended("</response> Hello.<|endoftext|><|im_start|>user").action == Respond("Hello.")
    assert ended("</response> Hello. [INST] now [/INST]").action == Respond("Hello.")


def test_dropped_pieces_never_join_into_a_marker():
    assert ended("</response> a </sil<|x|>ence> b").action == Respond("a </sil")


def test_ordinary_brackets_are_spoken():
    for text in ("5 < 10", "I <3 you", "see a[0] and b[1]", "<div> is a tag", "x <", "[", "a <b c"):
        assert ended(f"</response> {text}").action == Respond(text)
        assert ended("</response>", *text).action == Respond(text)


def test_an_unfinished_tag_at_the_end_is_not_spoken():
    assert ended("</response> Hello </sil").action == Respond("Hello")
    assert ended("</silence> </").malformed is None


def test_a_lone_bracket_after_the_end_counts_as_trailing_text():
    assert ended("</silence> <") == ReplyEnded(Silence(), Malformed.TRAILING_TEXT)


@pytest.mark.parametrize(
    "question", ["{not json", '{"query": 3}', '{"other": "x"}', "{" * 5000, '{"a":' * 5000]
)
def test_a_question_that_only_looks_like_json_is_asked_as_it_is(question):
    assert ended(f"<|background_call|>{question}").action == Delegate("", question)


def test_markers_in_a_thought_decide_nothing():
    assert ended("<think></silence></think></response> hi").action == Respond("hi")
    assert ended("<think></response> hi") == ReplyEnded(Silence(), Malformed.UNMARKED)


def test_a_long_reply_of_brackets_is_read_in_one_pass():
    text = "<" * 50_000
    assert ended(f"</response> {text}").action == Respond(text)
