"""The settings, section by section: names with units, bounds, and one sentence each.

Only ``wiring`` reads these; every other package gets small frozen values of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator


class Section(BaseModel):
    """Base of every section: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class ModelSettings(Section):
    """Which model decides, and how it is reached."""

    backend: str | None = Field(
        default=None,
        min_length=1,
        description="Name of the backend: `embedded` (the stand-in eye, on the CPU), "
        "`openai_compat` (`vllm serve` and alike), or one that a plug-in registers under "
        "`onlooker.models`. When not set: `openai_compat` if there is a `url`, else `embedded`.",
    )
    url: str | None = Field(
        default=None,
        description="Base URL of the model server, such as `http://127.0.0.1:8000/v1`.",
    )
    name: str | None = Field(
        default=None,
        description="Name of the served model; the server's only model when not set.",
    )
    api_key: SecretStr | None = Field(
        default=None, description="Bearer token of the model server. Never printed."
    )
    dialect: str | None = Field(
        default=None,
        description="How the model spells its decisions: `joyvl` or `generic`; guessed from the "
        "model's name when not set.",
    )
    connect_timeout_ms: int = Field(
        default=5_000, ge=50, le=120_000, description="Longest wait for a connection."
    )
    idle_timeout_ms: int = Field(
        default=30_000,
        ge=100,
        le=600_000,
        description="Longest silence between two pieces of an answer.",
    )
    probe_timeout_ms: int = Field(
        default=10_000,
        ge=50,
        le=600_000,
        description="Longest wait for the server's answer about its model and limits, at start.",
    )
    max_reply_tokens: int | None = Field(
        default=None,
        ge=16,
        le=8_192,
        description="Longest reply of one tick, in tokens; the dialect's number.",
    )
    max_model_len_tokens: int | None = Field(
        default=None,
        ge=1024,
        description="Context length in tokens, where the server does not tell it.",
    )
    max_images: int | None = Field(
        default=None,
        ge=4,
        description="Pictures that one prompt may hold, where the server does not tell it.",
    )
    options: dict[str, str | int | float | bool] = Field(
        default_factory=dict,
        description="Further options of the backend's factory, for plug-ins.",
    )

    @field_validator("url")
    @classmethod
    def _has_scheme(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return url


class MemorySection(Section):
    """What a session remembers. What is not set is derived from the model server's limits."""

    chunk_frames: int | None = Field(
        default=None,
        ge=3,
        description="Pictures in a full chunk; the dialect's number when not set.",
    )
    chunk_ticks: int | None = Field(
        default=None, ge=2, description="Ticks in a full chunk; three times `chunk_frames`."
    )
    max_age_ms: int | None = Field(
        default=None, ge=1000, description="Age at which a chunk is full; 10 minutes."
    )
    lead: int | None = Field(
        default=None,
        ge=1,
        description="Pictures before full at which the summary is asked for; 10, or a tenth of "
        "small chunks, adapted to how long summaries take.",
    )
    fixed_lead: bool = Field(default=False, description="Never adapt the lead.")
    hard_cap_frames: int | None = Field(
        default=None,
        ge=3,
        description="Pictures at which a fallback takes the place of a summary that is not there; "
        "`chunk_frames` plus twice the lead, within the server's limits.",
    )
    token_watermark: int | None = Field(
        default=None, ge=256, description="Prompt tokens at which a chunk is full."
    )
    ring_frames: int | None = Field(
        default=None, ge=1, description="Pictures kept while nothing was asked; 10."
    )
    rollup_every: int = Field(default=5, ge=2, le=100, description="Summaries in one block.")
    block_window: int = Field(default=15, ge=1, le=1_000, description="Blocks kept.")
    block_trim: int = Field(
        default=3, ge=1, le=1_000, description="Blocks forgotten at once when there are too many."
    )
    qa_entries: int = Field(
        default=64, ge=1, le=10_000, description="Lines of the history of queries and replies."
    )
    qa_tokens: int | None = Field(
        default=None, ge=16, description="Tokens of the history of queries and replies."
    )
    max_prompt_tokens: int | None = Field(
        default=None, ge=1024, description="Prompt budget; the server's context less the reply."
    )
    summary_max_tokens: int | None = Field(default=None, ge=16, description="Longest summary.")
    max_instructions: int | None = Field(
        default=None, ge=1, description="Standing instructions at once; the dialect's number."
    )
    frame_tokens: int = Field(
        default=276,
        ge=1,
        le=100_000,
        description="Guess of the tokens of one picture, until the server's usage teaches better.",
    )
    system_tokens: int = Field(
        default=800,
        ge=1,
        le=100_000,
        description="Guess of the tokens of the system prompt, until usage teaches better.",
    )
    summary_attempts: int = Field(
        default=3, ge=1, le=20, description="Requests for one summary before it is given up."
    )


class DecisionSettings(Section):
    """How readily the model speaks."""

    persona: str = Field(
        default="default", min_length=1, description="`default`, `silent` or `talkative`."
    )
    language: str = Field(
        default="en",
        pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$",
        description="Language tag of prompts and summaries.",
    )
    force_silence_until_query: bool = Field(
        default=True, description="Make no model call while nothing is asked."
    )
    response_cooldown_ms: int = Field(
        default=0,
        ge=0,
        le=3_600_000,
        description="No call on the plain cadence for this long after a response ended.",
    )
    repeat_cooldown_ms: int = Field(
        default=5_000,
        ge=0,
        le=3_600_000,
        description="A line heard this recently is not said again; 0 turns it off.",
    )
    delegation_cooldown_ms: int = Field(
        default=120_000,
        ge=0,
        le=86_400_000,
        description="A question delegated this recently is not delegated again.",
    )
    queue_while_speaking: bool = Field(
        default=False,
        description="Let one new response wait for the live one instead of dropping it.",
    )
    max_query_chars: int = Field(
        default=4_000, ge=16, le=100_000, description="Longest query, in characters."
    )


class CadenceSettings(Section):
    """When the model is asked."""

    period_ms: int = Field(
        default=1_000, ge=50, le=3_600_000, description="Time from one tick to the next."
    )
    tick_deadline_ms: int = Field(
        default=10_000,
        ge=100,
        le=600_000,
        description="A tick's calls must have ended this long after it began.",
    )
    summary_deadline_ms: int = Field(
        default=60_000, ge=100, le=3_600_000, description="Longest wait for one summary."
    )
    max_requests: int = Field(
        default=4, ge=1, le=16, description="Requests of one tick, recoveries included."
    )


class VideoSettings(Section):
    """How pictures are taken and sent."""

    fps: float = Field(
        default=1.0, ge=0.01, le=60, description="Frames taken from the source, per second."
    )
    frames_per_tick: int | None = Field(
        default=None,
        ge=1,
        le=4,
        description="Pictures shown to the model in one tick; as many as `fps` gives in one "
        "period, at most 4, when not set.",
    )
    max_pixels: int = Field(
        default=262_144,
        ge=1_024,
        le=16_777_216,
        description="Largest picture that is sent, width times height; larger ones are scaled.",
    )
    jpeg_quality: int = Field(default=90, ge=10, le=100, description="JPEG quality of pictures.")


class BargeInSettings(Section):
    """When somebody's voice stops ours."""

    overlap: Literal["barge_in", "listen_only"] = Field(
        default="barge_in",
        description="Whether speech over a response may end it (`barge_in`) or is only heard.",
    )
    min_speech_ms: int = Field(
        default=1_200, ge=0, le=10_000, description="Speech this long interrupts by itself."
    )
    short_burst_ms: int = Field(
        default=250,
        ge=0,
        le=10_000,
        description="A burst shorter than this is dismissed without waiting for its transcript.",
    )
    timeout_ms: int = Field(
        default=3_000,
        ge=100,
        le=60_000,
        description="A suspected barge-in without an answer is dismissed after this long.",
    )
    grace_ms: int = Field(
        default=500,
        ge=0,
        le=10_000,
        description="How long a client may still report what was played after a flush.",
    )


class DelegationSettings(Section):
    """The background brain."""

    ring_frames: int = Field(
        default=8, ge=0, le=64, description="Recent frames that a delegated question carries."
    )
    max_open: int = Field(default=4, ge=1, le=64, description="Questions in work at once.")


class ReportSettings(Section):
    """The timeline page of `onlooker watch --report`."""

    max_thumbnails: int = Field(
        default=240,
        ge=2,
        le=5_000,
        description="Pictures kept evenly over the run; as many again of ticks that spoke.",
    )
    thumbnail_width_px: int = Field(
        default=192, ge=32, le=640, description="Largest width and height of such a picture."
    )


class RecorderSettings(Section):
    """Recordings of sessions. They hold what users said, so there is none unless asked for."""

    path: Path | None = Field(
        default=None, description="File that gets every event and command, as JSON lines."
    )
