"""The embedded eye: a stand-in for a vision-language model, on the CPU and without a download.

It is **not a language model**. It is an ASGI application with the chat-completions contract of
``vllm serve``, reached through the same bridge as a real server, so the whole path of a prompt is
exercised. It really looks at the pictures: movement, scene changes, brightness, colours and QR
codes with OpenCV; with the ``[eye]`` extra also things (an SSD trained on COCO) and text in view.
It understands standing queries in plain, limited English about what it can see, says once when it
cannot serve one, delegates what asks for knowledge, and writes factual summaries.

Theory of operation. A request is read like a model would read it (``request``, ``reading``): what
stands, what was shown, what was said. Each standing query becomes intents (``language``), each
intent a task (``monitors``, ``errands``) that is stepped through the prompt's ticks and so knows
what has been told already. What the tasks want to be said now becomes the reply (``speech``,
``mind``), in the words of the dialect. Nothing is kept between requests but caches keyed by
content.
"""

from __future__ import annotations

from onlooker.bridges.model.embedded.app import DESCRIPTION, create_app
from onlooker.bridges.model.embedded.backend import build
from onlooker.bridges.model.embedded.request import MODEL_NAME, Limits
from onlooker.bridges.model.embedded.sight import Sight

__all__ = ["DESCRIPTION", "MODEL_NAME", "Limits", "Sight", "build", "create_app"]
