"""Standing queries in plain English, and what the eye makes of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.bridges.model.embedded.language import understand
from onlooker.bridges.model.embedded.language.intents import (
    Appears,
    AskColours,
    AskScene,
    AskTime,
    CodeSeen,
    ColourSeen,
    Compare,
    Count,
    Describe,
    Intent,
    Knowledge,
    Leaves,
    Present,
    Reaches,
    ReadCode,
    ReadText,
    Remind,
    Returns,
    Scene,
    SceneBecomes,
    TextSeen,
    Thing,
    Unservable,
)

pytestmark = pytest.mark.pure

PERSON, BICYCLE, CAT, DOG, CAR = map(Thing, ("person", "bicycle", "cat", "dog", "car"))

SERVED: list[tuple[str, tuple[Intent, ...]]] = [
    ("tell me when a bicycle appears", (Appears((BICYCLE,)),)),
    ("Tell me when you see a bike!", (Appears((BICYCLE,)),)),
    ("let me know when the bikes show up", (Appears((BICYCLE,)),)),
    ("alert me if someone comes into view", (Appears((PERSON,)),)),
    ("say when people arrive", (Appears((PERSON,)),)),
    ("watch for bikes", (Appears((BICYCLE,)),)),
    ("Please keep an eye out for a dog.", (Appears((DOG,)),)),
    ("when a woman appears, tell me", (Appears((PERSON,)),)),
    ("whenever a man walks by, let me know", (Appears((PERSON,)),)),
    ("Could you please let me know if there's a cat in the picture?", (Appears((CAT,)),)),
    ("Can you tell me when a person appears?", (Appears((PERSON,)),)),
    ("tell me when a stop sign is in view", (Appears((Thing("stop sign"),)),)),
    ("tell me when a red car appears", (Appears((Thing("car", "red"),)),)),
    ("tell me when a person or a bicycle appears", (Appears((PERSON, BICYCLE)),)),
    ("tell me when a cat, a dog or a car appears", (Appears((CAT, DOG, CAR)),)),
    ("tell me when the dog leaves", (Leaves(DOG),)),
    ("notify me when the person is gone", (Leaves(PERSON),)),
    ("tell me as soon as you don't see the cat anymore", (Leaves(CAT),)),
    ("please watch for anyone leaving", (Leaves(PERSON),)),
    ("tell me when the cat comes back", (Returns(CAT),)),
    ("tell me when the cat appears again", (Returns(CAT),)),
    ("tell me when a cat appears or leaves", (Appears((CAT,)), Leaves(CAT))),
    ("tell me when a cat appears and when it gets dark",
     (Appears((CAT,)), SceneBecomes(Scene.DARK))),
    ("tell me when there are more than 3 people", (Reaches(PERSON, 4, Compare.AT_LEAST),)),
    ("tell me when two people are in view", (Reaches(PERSON, 2, Compare.AT_LEAST),)),
    ("tell me when there are fewer than two cars", (Reaches(CAR, 1, Compare.AT_MOST),)),
    ("tell me when there is nobody", (Reaches(PERSON, 0, Compare.EXACTLY),)),
    ("tell me when something moves", (SceneBecomes(Scene.MOVES),)),
    ("tell me if you see movement", (SceneBecomes(Scene.MOVES),)),
    ("tell me when it stops moving", (SceneBecomes(Scene.STILL),)),
    ("tell me when the scene changes", (SceneBecomes(Scene.CUT),)),
    ("tell me when it gets dark", (SceneBecomes(Scene.DARK),)),
    ("let me know when the lights go out", (SceneBecomes(Scene.DARK),)),
    ("let me know when it gets bright again", (SceneBecomes(Scene.BRIGHT),)),
    ("tell me when you see red", (ColourSeen("red"),)),
    ("alert me when something gray appears", (ColourSeen("grey"),)),
    ("tell me when an orange appears", (Appears((Thing("orange"),)),)),
    ("tell me when the word STOP appears", (TextSeen("stop"),)),
    ("tell me when you see text", (TextSeen(None),)),
    ("tell me when you see a QR code", (CodeSeen(),)),
    ("what does the sign say?", (ReadText(),)),
    ("read the text", (ReadText(),)),
    ("scan the QR code", (ReadCode(),)),
    ("How many people are there?", (Count(PERSON),)),
    ("count the bikes", (Count(BICYCLE),)),
    ("is there a dog?", (Present(DOG),)),
    ("Can you see any cats?", (Present(CAT),)),
    ("describe what you see", (Describe(),)),
    ("What's happening?", (Describe(),)),
    ("is it dark?", (AskScene(Scene.DARK),)),
    ("is anything moving?", (AskScene(Scene.MOVES),)),
    ("what colours can you see?", (AskColours(None),)),
    ("what colour is the car?", (AskColours(CAR),)),
    ("how long have you been watching?", (AskTime(),)),
    ("remind me in 10 seconds", (Remind(10_000, ""),)),
    ("remind me in 2 minutes to stir the soup", (Remind(120_000, "stir the soup"),)),
    ("remind me to stir the soup in two minutes", (Remind(120_000, "stir the soup"),)),
    ("in half a minute tell me to breathe", (Remind(30_000, "breathe"),)),
    ("tell me when 10 seconds have passed", (Remind(10_000, ""),)),
    ("hello, tell me when a dog walks by and tell me how many people there are",
     (Appears((DOG,)), Count(PERSON))),
]  # fmt: skip


@pytest.mark.parametrize(("query", "intents"), SERVED, ids=[query for query, _ in SERVED])
def test_what_the_eye_can_serve(query: str, intents: tuple[Intent, ...]) -> None:
    assert understand(query) == intents


@pytest.mark.parametrize(
    "query",
    [
        "who invented the bicycle?",
        "What is the capital of France",
        "why is the sky blue",
        "look up the weather in Paris",
        "explain how engines work",
        "how do I fix a flat tyre?",
        "tell me about the history of bicycles",
        "Is Paris bigger than London?",
    ],
)
def test_questions_of_knowledge(query: str) -> None:
    assert understand(query) == (Knowledge(query),)


@pytest.mark.parametrize(
    "query",
    [
        "tell me when he is sad",
        "tell me when a person is sad",
        "tell me when the man waves",
        "tell me when my kettle boils",
        "tell me when a unicorn appears",
        "what is he holding?",
        "hello",
        "",
        "?!",
        "x" * 100_000,
        "remind me in twelve parsecs",
    ],
)
def test_what_the_eye_cannot_serve_is_not_taken_for_something_it_can(query: str) -> None:
    assert understand(query) == (Unservable(query),)


def test_a_request_that_is_not_understood_is_named_beside_one_that_is() -> None:
    intents = understand("tell me when a cat appears. Tell me when he is sad.")
    assert intents == (Appears((CAT,)), Unservable("Tell me when he is sad"))


def test_small_talk_beside_a_request_is_left_alone() -> None:
    assert understand("I am cooking. Tell me when a cat appears.") == (Appears((CAT,)),)


WORDS = st.sampled_from(
    [
        *("tell", "me", "when", "if", "watch", "for", "remind", "in", "10", "seconds", "to", "say"),
        *("a", "the", "cat", "person", "red", "appears", "leaves", "back", "and", "or", "is", "it"),
        *(
            "how",
            "many",
            "there",
            "what",
            "does",
            "you",
            "see",
            "gets",
            "dark",
            "more",
            "than",
            "who",
        ),
        *(",", "?", "."),
    ]
)


@given(st.one_of(st.text(max_size=300), st.lists(WORDS, max_size=60).map(" ".join)))
def test_any_text_means_something_and_nothing_raises(query: str) -> None:
    assert understand(query)
