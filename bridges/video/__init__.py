"""Video in: files, cameras, streams, picture folders and screens as one kind of source.

``open_source`` picks the reader for what a user typed; ``check_picture`` and ``fit_picture``
judge pictures that somebody else made. Nothing here loads OpenCV before it is needed.
"""

from __future__ import annotations

from onlooker.bridges.video.picture import (
    MAX_PICTURE_PIXELS,
    MAX_PICTURE_SIDE,
    Picture,
    PictureInfo,
    check_picture,
    fit_picture,
)
from onlooker.bridges.video.reader import FrameFormat, SourceCounts
from onlooker.bridges.video.reconnect import Reconnect
from onlooker.bridges.video.source import CountedSource, open_source

__all__ = [
    "MAX_PICTURE_PIXELS",
    "MAX_PICTURE_SIDE",
    "CountedSource",
    "FrameFormat",
    "Picture",
    "PictureInfo",
    "Reconnect",
    "SourceCounts",
    "check_picture",
    "fit_picture",
    "open_source",
]
