"""What is known of pictures: analysed once, bounded, looked at closely only when asked."""

from __future__ import annotations

import base64

import pytest

from onlooker.bridges.model.embedded.sight import CacheMiss, Picture, Sight
from onlooker.bridges.model.embedded.sight.eye import Closer
from onlooker.bridges.model.embedded.sight.picture import decode, glance, picture_of
from onlooker.bridges.model.embedded.sight.store import Known, PictureStore
from tests.bridges.embedded.stage import TableFinder, eye_of, scene, uuid_of

pytestmark = pytest.mark.shell


def picture(index: int, data: bytes, *, by_reference: bool = False) -> Picture:
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    return picture_of(index, uuid_of(data), None if by_reference else url)


def test_a_picture_is_decoded_once_however_often_it_is_sent() -> None:
    sight = eye_of({1: [("cat", 0.9)]})
    pictures = [picture(n, scene(n)) for n in range(8)]
    for _ in range(3):
        admitted = sight.admit(pictures)
        sight.look_closer(pictures[-1:], Closer.OBJECTS, admitted)
    assert sight.decoded == 8


def test_a_reference_is_good_once_the_bytes_were_seen_and_a_miss_before() -> None:
    sight = eye_of()
    with pytest.raises(CacheMiss, match="Cache miss for image at index 3 but data is not"):
        sight.admit([picture(3, scene(1), by_reference=True)])
    sight.admit([picture(0, scene(1))])
    assert len(sight.admit([picture(0, scene(1), by_reference=True)])) == 1


def test_closer_looks_are_taken_newest_first_within_the_budget_and_kept() -> None:
    finder = TableFinder({n: [("cat", 0.9)] for n in range(12)})
    sight = Sight(finder=finder)
    pictures = [picture(n, scene(n)) for n in range(10)]
    admitted = sight.admit(pictures)
    sight.look_closer(pictures, Closer.OBJECTS, admitted, budget=4)
    looked = [admitted[p.key].objects is not None for p in pictures]
    assert looked == [False] * 6 + [True] * 4
    sight.look_closer(pictures, Closer.OBJECTS, admitted, budget=0)
    sight.look_closer(pictures[-2:], Closer.OBJECTS, admitted)
    assert finder.calls == 4


def test_without_the_extra_nothing_is_looked_for() -> None:
    sight = Sight()
    known = sight.admit([picture(0, scene(1))])
    sight.look_closer([picture(0, scene(1))], Closer.OBJECTS, known)
    sight.look_closer([picture(0, scene(1))], Closer.TEXT, known)
    assert not sight.has_objects
    assert not sight.has_text
    assert known[uuid_of(scene(1))].objects is None


def test_bytes_that_were_let_go_are_asked_for_again() -> None:
    sight = eye_of({1: [("cat", 0.9)]}, store=PictureStore(max_bytes=0))
    whole, reference = picture(0, scene(1)), picture(0, scene(1), by_reference=True)
    known = sight.admit([whole])
    with pytest.raises(CacheMiss):
        sight.look_closer([reference], Closer.OBJECTS, known)
    sight.look_closer([reference, whole], Closer.OBJECTS, known)
    assert known[whole.key].objects


def test_the_store_is_bounded_in_pictures_and_bytes() -> None:
    store = PictureStore(max_pictures=3, max_bytes=25)
    seen = glance(decode(scene(1)))
    for number in range(6):
        store.put(str(number), Known(seen, b"x" * 10))
        assert store.held_bytes <= 25
    assert len(store) == 3
    assert store.get("0") is None
    oldest, newest = store.get("3"), store.get("5")
    assert oldest is not None
    assert oldest.data is None
    assert newest is not None
    assert newest.data is not None
    store.put("5", Known(seen, b"y"))
    assert store.held_bytes == 11
