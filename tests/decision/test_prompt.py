from __future__ import annotations

import json
from dataclasses import replace

import pytest

from onlooker.decision import GENERIC, JOYVL, PromptBuilder, system_prompt
from onlooker.types import FrameRef, Ms, VideoState
from tests.decision.scenes import Scene, frame, from_scratch, query, tick

pytestmark = pytest.mark.pure

SYSTEM = "You watch."


def scene_of(*ticks, head: str = "") -> Scene:
    return Scene(head=head, tail=list(ticks))


def roles(body: bytes) -> list[str]:
    return [one["role"] for one in json.loads(body)]


def test_system_then_user_and_assistant_in_turn():
    scene = scene_of(tick(0, query(), reply="</silence>"), tick(1))
    built = PromptBuilder(JOYVL, SYSTEM).build(scene)
    assert roles(built.canonical()) == ["system", "user", "assistant", "user"]
    assert built.canonical() == from_scratch(scene, JOYVL, SYSTEM)
    assert built.frames == 2
    texts = [
        part["text"]
        for one in json.loads(built.canonical())
        if one["role"] == "user"
        for part in one["content"]
        if part["type"] == "text"
    ]
    assert built.chars == len(SYSTEM) + len("</silence>") + sum(map(len, texts))


def test_the_head_is_the_first_part_of_the_chunks_first_user_message():
    scene = scene_of(tick(4, query(), reply="</silence>"), tick(5), head="[Video History]\nA cat.")
    messages = json.loads(PromptBuilder(JOYVL, SYSTEM).build(scene).canonical())
    kinds = [part["type"] for part in messages[1]["content"]]
    assert kinds == ["text", "text", "text", "image_url"]
    assert messages[1]["content"][0]["text"].startswith("[Video History]\nA cat.")
    assert [part["type"] for part in messages[3]["content"]] == ["text", "image_url"]


def test_c27_everything_constant_precedes_the_first_picture():
    scene = scene_of(tick(4, reply="</silence>"), tick(5), head="[Video History]\nA cat.")
    body = PromptBuilder(JOYVL, SYSTEM).build(scene).canonical()
    assert body.index(SYSTEM.encode()) < body.index(b"Video History") < body.index(b"image_url")


def test_an_empty_memory_is_the_system_prompt_alone():
    built = PromptBuilder(JOYVL, SYSTEM).build(Scene(head="not yet"))
    assert roles(built.canonical()) == ["system"]
    assert (built.frames, built.chars) == (0, len(SYSTEM))


def test_a_tick_serialises_its_own_bytes_only():
    scene, builder = Scene(), PromptBuilder(JOYVL, SYSTEM)
    sizes = []
    for number in range(100):
        scene.open(tick(number))
        built = builder.build(scene)
        sizes.append(built.new_bytes)
        assert built.reused_messages == (0 if number == 0 else 2 * number)
        scene.commit("</silence>")
    assert max(sizes[1:]) < 320
    assert builder.build(scene).reused_messages == 200


def test_the_open_tick_built_again_costs_nothing():
    scene, builder = scene_of(tick(0)), PromptBuilder(JOYVL, SYSTEM)
    first = builder.build(scene)
    again = builder.build(scene)
    assert again.messages == first.messages
    assert (again.new_bytes, again.reused_messages) == (0, 2)


def test_an_interruption_rewrites_its_own_assistant_message_and_nothing_else():
    scene, builder = Scene(), PromptBuilder(GENERIC, SYSTEM)
    for number in range(4):
        scene.open(tick(number))
        before = builder.build(scene).canonical()
        scene.commit(f"[RESPOND] Words of reply {number} that go on.")
    scene.open(tick(4))
    before = builder.build(scene).canonical()
    scene.rewrite(2, "[RESPOND] Words —")
    built = builder.build(scene)
    assert built.canonical() == from_scratch(scene, GENERIC, SYSTEM)
    place = before.index(b"Words of reply 2")
    assert built.canonical()[:place] == before[:place]
    assert built.new_bytes == len('{"role":"assistant","content":"[RESPOND] Words —"},'.encode())
    scene.rewrite(2, "[SILENCE]")  # the grace: even less was heard
    assert builder.build(scene).canonical() == from_scratch(scene, GENERIC, SYSTEM)


def test_a_boundary_keeps_the_bytes_of_what_is_carried_over():
    scene, builder = Scene(), PromptBuilder(JOYVL, SYSTEM)
    for number in range(10):
        scene.open(tick(number))
        builder.build(scene)
        scene.commit("</silence>")
    scene.cross("[Video History]\nA cat.", keep=3)
    scene.open(tick(10))
    built = builder.build(scene)
    assert built.canonical() == from_scratch(scene, JOYVL, SYSTEM)
    assert built.reused_messages == 6  # system, three users, the two replies seen before
    assert built.new_bytes < 450
    assert builder.build(scene).new_bytes == 0


def test_what_left_the_tail_is_forgotten():
    scene, builder = scene_of(tick(0, reply="</silence>"), tick(1)), PromptBuilder(JOYVL, SYSTEM)
    builder.build(scene)
    scene.tail = [tick(2)]
    assert builder.build(scene).canonical() == from_scratch(scene, JOYVL, SYSTEM)
    scene.tail = [tick(1)]
    assert builder.build(scene).reused_messages == 1


def test_a_new_persona_changes_the_system_message_alone():
    scene, builder = scene_of(tick(0, reply="</silence>"), tick(1)), PromptBuilder(JOYVL, SYSTEM)
    builder.build(scene)
    builder.set_system("You chat.")
    built = builder.build(scene)
    assert built.canonical() == from_scratch(scene, JOYVL, "You chat.")
    assert built.new_bytes == len('[{"role":"system","content":"You chat."}')


def test_a_tick_rolled_back_and_shown_with_other_facts_is_serialised_again():
    scene, builder = scene_of(tick(0)), PromptBuilder(JOYVL, SYSTEM)
    builder.build(scene)
    for other in (
        tick(0, query()),
        tick(0, frames=2),
        tick(0, reply="</silence>"),
        tick(0),
        replace(tick(0), label_ms=Ms(700)),
        tick(0, frames=0),
        tick(0, frames=0, video=VideoState.CAMERA_OFF),
        replace(tick(0), label_ms=None),
        replace(tick(0), label_ms=None, at_ms=Ms(900)),
    ):
        scene.tail = [other]
        assert builder.build(scene).canonical() == from_scratch(scene, JOYVL, SYSTEM)


def test_b32_two_user_messages_in_a_row_are_impossible():
    with pytest.raises(AssertionError, match="only the last tick"):
        PromptBuilder(JOYVL, SYSTEM).build(scene_of(tick(0), tick(1)))


def test_a_picture_that_repeats_is_referred_to_again():
    scene = scene_of(tick(0, reply="</silence>"), tick(1))
    scene.tail[1] = tick(0, frames=1)
    built = PromptBuilder(JOYVL, SYSTEM).build(scene)
    assert [one for one in built.messages if isinstance(one, FrameRef)] == [frame(0)] * 2


def test_c26_only_a_boundary_breaks_the_prefix():
    """250 ticks in chunks of 100: the canonical form breaks at the two boundaries, nowhere else."""
    scene, builder = Scene(), PromptBuilder(JOYVL, system_prompt(JOYVL, "default"))
    breaks, before = [], b""
    for number in range(250):
        if number in (100, 200):
            scene.cross(f"[Video History]\nSummary {number}.", keep=10)
        scene.open(tick(number, *([query()] if number % 40 == 7 else [])))
        now = builder.build(scene).canonical()
        if not now.startswith(before):
            breaks.append(number)
        before = now[:-1]
        scene.commit("</response> A cat." if number % 30 == 9 else "</silence>")
    assert breaks == [100, 200]
