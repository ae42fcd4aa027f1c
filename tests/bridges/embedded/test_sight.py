"""Colours, changes, codes, decoding: what OpenCV alone can tell."""

from __future__ import annotations

import base64

import cv2
import numpy as np
import pytest

from onlooker.bridges.model.embedded.sight.change import compare
from onlooker.bridges.model.embedded.sight.codes import read_codes
from onlooker.bridges.model.embedded.sight.colours import colour_shares
from onlooker.bridges.model.embedded.sight.picture import (
    UnreadablePicture,
    decode,
    glance,
    picture_of,
)
from tests.bridges.embedded.stage import encoded, plain, qr

pytestmark = pytest.mark.shell


@pytest.mark.parametrize(
    ("bgr", "name"),
    [((0, 0, 220), "red"), ((0, 140, 255), "orange"), ((0, 240, 250), "yellow"),
     ((40, 200, 40), "green"), ((200, 200, 0), "cyan"), ((220, 40, 0), "blue"),
     ((200, 0, 120), "purple"), ((180, 60, 255), "pink"), ((20, 60, 110), "brown"),
     ((5, 5, 5), "black"), ((128, 128, 128), "grey"), ((250, 250, 250), "white")],
)  # fmt: skip
def test_each_colour_has_its_name(bgr: tuple[int, int, int], name: str) -> None:
    assert colour_shares(plain(*bgr)) == {name: 1.0}


def test_shares_come_largest_first_and_add_up() -> None:
    image = plain(250, 250, 250)
    image[:, :40] = (0, 0, 220)
    shares = colour_shares(image)
    assert list(shares) == ["white", "red"]
    assert shares["red"] == pytest.approx(0.25)


def test_noise_is_not_movement_and_a_moving_square_is() -> None:
    noise = np.random.default_rng(1).integers(-6, 7, (90, 160, 3))
    still = plain(100, 100, 100)
    noisy = (still + noise).astype(np.uint8)
    moved = still.copy()
    moved[30:60, 30:60] = 220
    assert not compare(glance(still), glance(noisy)).is_moving
    change = compare(glance(still), glance(moved))
    assert change.is_moving
    assert not change.cut


def test_another_scene_is_a_cut_and_so_is_another_size() -> None:
    left, right = plain(200, 40, 30), plain(30, 60, 200)
    assert compare(glance(left), glance(right)).cut
    assert compare(glance(left), glance(plain(200, 40, 30, size=(200, 90)))).cut


def test_a_dimmed_room_is_no_cut_before_its_colours_change() -> None:
    noise = np.random.default_rng(2).integers(0, 256, (90, 160, 3)).astype(np.uint8)
    room = cv2.GaussianBlur(noise, (0, 0), 5)
    assert not compare(glance(room), glance((room * 0.93).astype(np.uint8))).cut


def test_a_qr_code_is_read_and_a_plain_or_tiny_picture_has_none() -> None:
    assert read_codes(decode(qr("door 7"))) == ("door 7",)
    assert read_codes(plain(90, 90, 90)) == ()
    assert read_codes(plain(90, 90, 90, size=(2, 2))) == ()


def test_large_pictures_are_reduced_and_thin_ones_survive() -> None:
    assert decode(encoded(plain(1, 2, 3, size=(4_000, 2_000)))).shape == (640, 1_280, 3)
    assert decode(encoded(plain(1, 2, 3, size=(3_000, 1)))).shape == (1, 1_280, 3)


@pytest.mark.parametrize("data", [b"", b"<html>", encoded(plain(1, 2, 3))[:20]])
def test_bytes_that_are_no_picture_are_refused(data: bytes) -> None:
    with pytest.raises(UnreadablePicture, match="Failed to load image"):
        decode(data)


def test_a_picture_is_known_by_its_uuid_and_only_else_by_its_bytes() -> None:
    url = "data:image/png;base64," + base64.b64encode(b"bytes").decode()
    assert picture_of(0, "abc", url).key == "abc"
    assert picture_of(0, None, url).key == picture_of(3, None, url).key != "abc"
    assert picture_of(0, "abc", url).bytes() == b"bytes"
    assert picture_of(0, "abc", None).bytes() is None


@pytest.mark.parametrize(
    ("url", "words"),
    [("http://example.org/a.png", "Only data URLs"), ("data:image/png;base64,?", "Non-base64"),
     ("data:image/png,abc", "Only data URLs")],
)  # fmt: skip
def test_urls_are_never_fetched(url: str, words: str) -> None:
    with pytest.raises(UnreadablePicture, match=words):
        picture_of(0, None, url).bytes()
