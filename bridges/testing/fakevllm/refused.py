"""Error bodies, as the measured server writes them."""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """The request gets an error body."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "BadRequestError",
        param: str | None = None,
        in_stream: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.param = param
        self.in_stream = in_stream
        """With ``stream`` it comes as an event of a stream that begins with 200."""

    def body(self) -> dict[str, Any]:
        return {
            "error": {
                "message": self.message,
                "type": self.kind,
                "param": self.param,
                "code": self.status,
            }
        }


def internal_error(message: str = "Internal server error", *, in_stream: bool = True) -> Refused:
    return Refused(500, message, kind="InternalServerError", in_stream=in_stream)
