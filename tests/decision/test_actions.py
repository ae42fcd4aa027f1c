from __future__ import annotations

import pytest

from onlooker.decision.actions import ActionKind, Delegate, Respond, Silence, kind_of

pytestmark = pytest.mark.pure


def test_every_action_has_a_kind():
    assert kind_of(Silence()) is ActionKind.SILENCE
    assert kind_of(Respond("Hello.")) is ActionKind.RESPOND
    assert kind_of(Delegate("", "Who won?")) is ActionKind.DELEGATE


def test_kinds_are_spelt_as_on_the_wire():
    assert [str(kind) for kind in ActionKind] == ["silence", "respond", "delegate"]
