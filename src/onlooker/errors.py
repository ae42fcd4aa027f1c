"""The error tree. Every error has a stable ``code``; bridge errors also say if a retry can help.

::

    OnlookerError(code)
    ├── ConfigError                       start-up only
    ├── ProtocolError                     the client's fault: an ``error`` event, the session lives
    │   ├── InvalidEvent
    │   ├── UnknownEvent
    │   ├── UnsupportedModality
    │   ├── AudioFormatMismatch
    │   └── EventTooLarge
    ├── SessionError
    │   ├── SessionNotFound
    │   ├── SessionLimitReached
    │   ├── SessionExpired
    │   └── InvalidTransition             our bug
    ├── SourceError                       a video source or picture that cannot be used
    ├── RecordingError                    a recording that cannot be read or replayed
    └── BridgeError(bridge, retryable)
        ├── BridgeTimeout
        ├── BridgeUnavailable
        ├── BridgeRejected(status)
        └── BridgeProtocolError

Messages are one line, name what to do, and never hold user content.
"""

from __future__ import annotations

__all__ = [
    "AudioFormatMismatch",
    "BridgeError",
    "BridgeProtocolError",
    "BridgeRejected",
    "BridgeTimeout",
    "BridgeUnavailable",
    "ConfigError",
    "EventTooLarge",
    "InvalidEvent",
    "InvalidTransition",
    "OnlookerError",
    "ProtocolError",
    "RecordingError",
    "SessionError",
    "SessionExpired",
    "SessionLimitReached",
    "SessionNotFound",
    "SourceError",
    "UnknownEvent",
    "UnsupportedModality",
]


class OnlookerError(Exception):
    """Base of every error Onlooker raises on purpose."""

    code: str = "internal_error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class ConfigError(OnlookerError):
    """Settings that cannot work; raised at start-up, with the reason."""

    code = "invalid_config"


class ProtocolError(OnlookerError):
    """The client sent something wrong; the session lives on."""

    code = "invalid_event"


class InvalidEvent(ProtocolError):
    code = "invalid_event"


class UnknownEvent(ProtocolError):
    code = "unknown_event"


class UnsupportedModality(ProtocolError):
    code = "unsupported_modality"


class AudioFormatMismatch(ProtocolError):
    code = "audio_format_mismatch"


class EventTooLarge(ProtocolError):
    code = "event_too_large"


class SessionError(OnlookerError):
    code = "session_error"


class SessionNotFound(SessionError):
    code = "session_not_found"


class SessionLimitReached(SessionError):
    code = "session_limit_reached"


class SessionExpired(SessionError):
    code = "session_expired"


class InvalidTransition(SessionError):
    """A bug of ours: the turn machine was asked for an impossible step."""

    code = "invalid_transition"


class SourceError(OnlookerError):
    """A video source, a picture or a sound that cannot be used."""

    code = "source_error"


class RecordingError(OnlookerError):
    """A recording that cannot be read or does not replay."""

    code = "recording_error"


class BridgeError(OnlookerError):
    """An outside capability failed. ``retryable`` says whether asking again can help."""

    code = "bridge_error"
    retryable: bool = False

    def __init__(
        self, message: str, *, bridge: str, code: str | None = None, retryable: bool | None = None
    ) -> None:
        super().__init__(message, code=code)
        self.bridge = bridge
        if retryable is not None:
            self.retryable = retryable


class BridgeTimeout(BridgeError):
    code = "bridge_timeout"
    retryable = True


class BridgeUnavailable(BridgeError):
    code = "bridge_unavailable"
    retryable = True


class BridgeRejected(BridgeError):
    """The other side answered, and refused. ``status`` is its HTTP status where it had one."""

    code = "bridge_rejected"
    retryable = False

    def __init__(
        self,
        message: str,
        *,
        bridge: str,
        status: int | None = None,
        code: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message, bridge=bridge, code=code, retryable=retryable)
        self.status = status


class BridgeProtocolError(BridgeError):
    """The other side answered something that is not the protocol (HTML, cut streams)."""

    code = "bridge_protocol_error"
    retryable = True
