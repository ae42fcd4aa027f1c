"""The three views, on recorded consoles."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace

import pytest
from rich.console import Console

from onlooker.orchestrator import notices as n
from onlooker.orchestrator.live import JsonView, LiveView, PlainView, View, make_view
from onlooker.types import Epoch, FrameUuid, Ms, ResponseId
from tests.orchestrator.sample_run import FACTS, notices

pytestmark = pytest.mark.shell

SEEN = {second: FrameUuid(f"u{second}") for second in range(30)}


def console(*, terminal: bool = False, width: int = 100) -> Console:
    return Console(
        file=io.StringIO(), force_terminal=terminal, width=width, height=40, color_system=None,
        legacy_windows=False,
    )  # fmt: skip


def printed(screen: Console) -> str:
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def run_through(view: View) -> None:
    view.begin(FACTS, 30_000)
    for notice in notices("tell me when [red]a bicycle[/red] appears", "A bicycle.", SEEN):
        view.add(notice)
        view.at(Ms(12_000))
    view.end("done")


def test_a_view_is_chosen_by_the_flags_and_the_terminal() -> None:
    assert isinstance(make_view(as_json=True, plain=False, console=console()), JsonView)
    assert isinstance(make_view(as_json=False, plain=False, console=console()), PlainView)
    screen = console(terminal=True)
    assert isinstance(make_view(as_json=False, plain=True, console=screen), PlainView)
    assert isinstance(make_view(as_json=False, plain=False, console=screen), LiveView)


def test_plain_lines_tell_the_run_and_name_the_stand_in() -> None:
    screen = console(width=60)
    run_through(PlainView(screen))
    lines = printed(screen).splitlines()
    assert lines[0] == "watching street.mp4 (30.0 s, speed max)"
    assert lines[1].startswith("model embedded eye — a stand-in that looks with classical")
    assert lines[1].endswith("not a language model")
    assert "    5.0 s  spoke            A bicycle." in lines
    assert any("tell me when [red]a bicycle[/red] appears" in line for line in lines)
    assert any("trouble          bridge_unavailable: the model server is gone" in x for x in lines)
    assert "   26.0 s  silent           until 29.0 s, 4 ticks: decided by the model" in lines
    assert lines[-1] == "done"
    assert "\x1b" not in printed(screen)


def test_a_real_model_is_not_called_a_stand_in() -> None:
    screen = console()
    PlainView(screen).begin(replace(FACTS, stand_in=False, model="Qwen3-VL"), None)
    assert printed(screen).startswith("watching street.mp4 (live, speed max)\nmodel Qwen3-VL\n")
    assert "stand-in" not in printed(screen)


def test_notes_stand_in_the_header() -> None:
    screen = console()
    PlainView(screen).begin(replace(FACTS, notes=("nothing is asked",)), None)
    assert printed(screen).endswith("\nnote: nothing is asked\n")


def test_the_live_block_shows_progress_gauges_and_the_last_decisions() -> None:
    screen = console(terminal=True)
    view = LiveView(screen)
    run_through(view)
    block = console()
    block.print(view.render())
    text = printed(block)
    assert "watching street.mp4" in text
    assert "a stand-in that looks" in text
    assert "12.0 s of 30.0 s" in text
    assert "20 of 16 pictures in chunk 3, 3 summaries, 0 blocks" in text
    assert "6500 of 32768 tokens" in text
    assert "92% of the last prompt's tokens" in text
    assert "-····●······◆·······x····●····" in text


def test_lines_go_above_the_live_block_and_stay() -> None:
    screen = console(terminal=True)
    run_through(LiveView(screen))
    assert "    5.0 s  spoke            A bicycle." in printed(screen)
    assert printed(screen).rstrip().endswith("done")


def test_words_are_shown_while_they_are_spoken() -> None:
    view = LiveView(console())
    block = console()
    response, epoch = ResponseId("r1"), Epoch(1)
    view.add(n.ResponseDelta(response, epoch, "A dog "))
    view.add(n.ResponseDelta(response, epoch, "\x1b[2Jcomes"))
    block.print(view.render())
    assert "speaking: A dog [2Jcomes" in printed(block)
    view.add(n.ResponseEnded(response, epoch, Ms(0), "completed", "A dog comes", "A dog comes"))
    after = console()
    after.print(view.render())
    assert "speaking" not in printed(after)


def test_a_live_source_has_no_end_to_run_towards() -> None:
    view = LiveView(console())
    view.at(Ms(61_000))
    block = console()
    block.print(view.render())
    assert "1:01.0 (live)" in printed(block)
    assert "decisions  none yet" in printed(block)


def test_the_live_block_fits_a_narrow_terminal() -> None:
    screen = console(terminal=True, width=40)
    run_through(LiveView(screen))
    assert max(len(line) for line in printed(screen).splitlines() if "\x1b" not in line) <= 40


def test_json_is_one_object_per_notice_and_nothing_else() -> None:
    out = io.StringIO()
    view = JsonView(out, lambda: None)
    run_through(view)
    objects = [json.loads(line) for line in out.getvalue().splitlines()]
    assert len(objects) == len(list(notices("q", "s", SEEN)))
    assert objects[0]["type"] == "DecisionMade"
    assert objects[-1] == {"type": "SessionEnded", "at_ms": 30000, "reason": "source_ended"}


def test_a_reader_that_goes_away_stops_the_run_once_and_raises_nothing() -> None:
    reader, writer = os.pipe()
    gone: list[str] = []
    with os.fdopen(writer, "w") as out:
        view = JsonView(out, lambda: gone.append("gone"))
        os.close(reader)
        view.add(n.SessionEnded(Ms(0), "client"))
        view.add(n.SessionEnded(Ms(0), "client"))
    assert gone == ["gone"]
