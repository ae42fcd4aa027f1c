"""Random replies of models: markers whole and broken, template tokens, ordinary text."""

from __future__ import annotations

from hypothesis import strategies as st

from onlooker.decision import ParseEvent, QuestionText, ReplyParser, SpeechText

MARKERS = (
    "</silence>", "<silence>", "[SILENCE]", "</response>", "<response>", "[RESPOND]",
    " </RESPONSE >", "</delegation>", "<delegation>", "</delegate>", "[DELEGATE]", "【silence】",
    "<|background_call|>",
)  # fmt: skip
TOKENS = ("<|im_end|>", "<|im_start|>", "</s>", "<s>", "[INST]", "<think>", "</think>", "<pad>")
WORDS = (
    "The cat is here.", "5 < 10", "<3", "a[0]", " ", "\n", "\r\n", "\r", "\t", "<", "[",
    "/", ">", "]", "</", "<|", "silence", "response", '{"query": "Who?"}', "{",
    "\u3000", "\u00e9", "\ud800",
)  # fmt: skip

pieces = st.one_of(
    st.sampled_from(MARKERS),
    st.sampled_from(TOKENS),
    st.sampled_from(WORDS),
    st.sampled_from(MARKERS).flatmap(lambda m: st.integers(0, len(m)).map(lambda n: m[:n])),
    st.text(alphabet="<>[]/|sil ence\n", max_size=8),
    st.text(max_size=5),
)
replies = st.lists(pieces, max_size=10).map("".join)


@st.composite
def split_replies(draw: st.DrawFn) -> list[str]:
    """A reply in deltas, empty ones too."""
    text = draw(replies)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def parse(*deltas: str, cut: bool = False) -> list[ParseEvent]:
    """All events of a reply, as they came."""
    parser = ReplyParser()
    events = [event for delta in deltas for event in parser.feed(delta)]
    return events + list(parser.finish(cut=cut))


def merged(events: list[ParseEvent]) -> list[ParseEvent]:
    """The same with neighbouring pieces of speech made one."""
    out: list[ParseEvent] = []
    for event in events:
        if isinstance(event, SpeechText) and out and isinstance(before := out[-1], SpeechText):
            out[-1] = SpeechText(before.text + event.text)
        else:
            out.append(event)
    return out


def speech(events: list[ParseEvent]) -> str:
    return "".join(one.text for one in events if isinstance(one, SpeechText))


def question(events: list[ParseEvent]) -> str:
    return "".join(one.text for one in events if isinstance(one, QuestionText))
