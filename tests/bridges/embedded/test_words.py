"""The plain form of a query, and its clauses."""

from __future__ import annotations

import pytest

from onlooker.bridges.model.embedded.language import words

pytestmark = pytest.mark.pure


def test_the_plain_form_has_no_case_no_contractions_and_no_punctuation() -> None:
    assert words.plain("What\u2019s  on   the SIGN, please?!") == "what is on the sign please"
    assert words.plain("in 1.5 minutes. Now") == "in 1.5 minutes now"
    assert words.plain("don't, can't, he'll") == "do not cannot he will"


def test_a_list_with_commas_reads_as_a_list_with_or() -> None:
    assert words.plain_list("a cat, a dog, or a car") == "a cat or a dog or a car"


def test_courtesy_and_places_that_mean_in_view_are_dropped() -> None:
    text = "hey could you please tell me when a cat appears in the picture now thanks"
    assert words.stripped(text) == "tell me when a cat appears"
    assert words.without_articles("the cat on a mat") == "cat on mat"


def test_a_query_falls_into_its_requests() -> None:
    query = "Hello! Tell me when a cat appears, and remind me in 1.5 minutes. How many dogs?"
    assert words.clauses(query) == (
        "Hello",
        "Tell me when a cat appears",
        "remind me in 1.5 minutes",
        "How many dogs?",
    )
    assert len(words.clauses("a. " * 100)) == words.MAX_CLAUSES
