from __future__ import annotations

import pytest

from onlooker.decision import (
    DIALECTS,
    GENERIC,
    JOYVL,
    PERSONAS,
    Delegate,
    ReplyEnded,
    Respond,
    Silence,
    language_name,
    neutralise,
    system_prompt,
)
from onlooker.errors import ConfigError
from tests.decision.replies import parse

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@pytest.mark.parametrize("persona", PERSONAS)
def test_every_persona_teaches_the_forms_its_dialect_is_read_by(dialect, persona):
    prompt = system_prompt(dialect, persona)
    assert dialect.text.silence in prompt
    assert dialect.text.respond.split("{", maxsplit=1)[0].strip() in prompt
    assert ("delegat" in prompt.lower()) is (persona != "silent")
    assert prompt == prompt.strip()


def test_joyvl_keeps_the_section_the_model_was_served_with():
    for persona in PERSONAS:
        assert "## Action Format" in system_prompt(JOYVL, persona)
    assert "## Style" in system_prompt(JOYVL, "talkative")
    assert "</delegation>" in system_prompt(JOYVL, "default")
    assert "<delegation>" in system_prompt(JOYVL, "talkative")


@pytest.mark.parametrize("persona", PERSONAS)
def test_every_form_shown_to_a_generic_model_is_read_back(persona):
    forms = [line for line in system_prompt(GENERIC, persona).splitlines() if line.startswith("[")]
    kinds = {type(end.action) for form in forms if isinstance(end := parse(form)[-1], ReplyEnded)}
    assert kinds == ({Silence, Respond} if persona == "silent" else {Silence, Respond, Delegate})


@pytest.mark.parametrize("persona", PERSONAS)
def test_every_header_a_generic_model_is_told_of_exists(persona):
    prompt, text = system_prompt(GENERIC, persona), GENERIC.text
    for form in (text.query_header, text.cancelled_line, text.expired_line):
        assert form.split("]")[0] + "]" in prompt
    for form in (text.standing_header, text.video_history_header, text.qa_history_header):
        assert form.split("\n")[0] in prompt
    if persona != "silent":
        assert text.delegated_line.split("]")[0] + "]" in prompt


def test_b11_the_language_of_the_session_is_asked_for():
    assert system_prompt(GENERIC, "default", "de").endswith(
        "Speak German unless the user asks for another language."
    )
    assert system_prompt(GENERIC, "default", "en") == system_prompt(GENERIC, "default")


def test_an_unknown_persona_is_refused_with_the_choice():
    with pytest.raises(ConfigError, match="'grumpy'; use one of default, silent, talkative"):
        system_prompt(GENERIC, "grumpy")
    with pytest.raises(ConfigError):
        system_prompt(GENERIC, "../joyvl/default")


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("en", "English"), ("zh-CN", "Chinese"), ("pt_BR", "Portuguese"), ("DE", "German"),
        ("tlh", "the language with the code tlh"),
    ],
)  # fmt: skip
def test_languages_have_names(code, name):
    assert language_name(code) == name


def test_a_prompt_would_not_survive_neutralising_so_users_cannot_quote_it_into_effect():
    for dialect in DIALECTS.values():
        prompt = system_prompt(dialect, "default")
        assert dialect.text.silence not in neutralise(prompt)
