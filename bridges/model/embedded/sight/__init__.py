"""Looking at pictures: what OpenCV alone can tell, and with the ``[eye]`` extra things and text."""

from __future__ import annotations

from onlooker.bridges.model.embedded.sight.eye import CacheMiss, Sight
from onlooker.bridges.model.embedded.sight.picture import Picture, UnreadablePicture

__all__ = ["CacheMiss", "Picture", "Sight", "UnreadablePicture"]
