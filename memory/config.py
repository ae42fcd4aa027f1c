"""Settings of memory, what is derived from the server's limits, and what is refused.

Theory: a chunk holds F pictures. ``lead`` before it is full its summary is asked for; at the hard
cap H a fallback takes the summary's place. H must stay below what the server holds, with room for
the open tick, and what a fallback boundary carries over (H - F + lead) must stay below the point at
which the next summary is asked for (F - lead), or boundaries would follow one another at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from onlooker.errors import ConfigError
from onlooker.types import DialectText, ServerLimits

UNKNOWN_BUDGET_TOKENS = 32_768
"""Prompt budget when neither the user nor the server names one."""
TICK_TEXT_TOKENS = 24
"""Label, role tags and a short reply."""
RESERVE_TOKENS = 64
"""Kept free of the context length: chat-template tokens no estimate sees."""
MIN_BUDGET_TOKENS = 1_024
CHARS_PER_TOKEN = 2
"""Deliberately low, for texts that are cut before anything is learnt (Chinese included)."""


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """What a user may set; ``None`` is derived from the server's limits."""

    chunk_frames: int | None = None
    """F: pictures in a full chunk."""
    chunk_ticks: int | None = None
    """N: ticks in a full chunk (3 F)."""
    max_age_ms: int | None = None
    """Age at which a chunk is full (10 minutes)."""
    lead: int | None = None
    """Pictures before full at which the summary is asked for."""
    fixed_lead: bool = False
    """True: never adapt the lead to the summaries' latency."""
    hard_cap_frames: int | None = None
    """H: pictures at which a fallback takes the summary's place."""
    token_watermark: int | None = None
    """Prompt tokens at which a chunk is full."""
    ring_frames: int | None = None
    """K: pictures kept while nothing was asked (10)."""
    rollup_every: int = 5
    """Summaries in one block."""
    block_window: int = 15
    """Blocks kept."""
    block_trim: int = 3
    """Blocks forgotten at once when the window is exceeded."""
    qa_entries: int = 64
    """Lines of the Q&A history."""
    qa_tokens: int | None = None
    """Tokens of the Q&A history."""
    max_prompt_tokens: int | None = None
    summary_max_tokens: int | None = None
    """Longest summary (4,000, or less when the head is small)."""
    max_instructions: int | None = None
    """Standing instructions at once; None: the dialect's number."""
    frame_tokens: int = 276
    """Guess of tokens per picture until usage teaches better (262,144 pixels and a label)."""
    system_tokens: int = 800
    """Guess of the system prompt's tokens until usage teaches better."""
    summary_attempts: int = 3
    """Requests per summary before it is given up."""


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """Every value resolved; see :class:`MemorySettings` for the meaning."""

    chunk_frames: int
    chunk_ticks: int
    max_age_ms: int
    lead: int
    min_lead: int
    max_lead: int
    hard_cap_frames: int
    token_watermark: int
    ring_frames: int
    rollup_every: int
    block_window: int
    block_trim: int
    qa_entries: int
    qa_tokens: int
    max_prompt_tokens: int
    head_tokens: int
    """Share of the budget the head may take."""
    summary_max_tokens: int
    max_instructions: int
    frame_tokens: int
    system_tokens: int
    summary_attempts: int
    query_chars: int
    """Longest query kept whole; a caller may refuse longer ones before."""
    fact_chars: int
    """Longest delegated answer kept whole."""
    max_reply_tokens: int


def default_lead(frames: int) -> int:
    """10, or F/10 rounded up for small chunks."""
    return min(10, -(-frames // 10))


def resolve(
    settings: MemorySettings,
    limits: ServerLimits,
    text: DialectText,
    *,
    default_frames: int,
    max_reply_tokens: int,
) -> MemoryConfig:
    """Derives every value that the user left open.

    Args:
        settings: What the user set.
        limits: What the server said it can hold.
        text: The dialect's words (its number of standing instructions is used).
        default_frames: The dialect's F, lowered where the server holds less.
        max_reply_tokens: Longest reply; kept free of the context length.

    Raises:
        ConfigError: A value that was set cannot be held; the message says why.
    """
    _refuse_bad_numbers(settings)
    budget = _budget(settings, limits, max_reply_tokens)
    head = budget * 2 // 5
    holds = _holds(settings.frame_tokens, settings.system_tokens, budget - head, limits.max_images)
    frames, lead, cap = _shape(settings, holds, default_frames)
    summary = _below(settings.summary_max_tokens, min(4_000, max(32, head // 10)), head // 2,
                     "summary_max_tokens", "half the prompt head")  # fmt: skip
    instructions = settings.max_instructions or text.max_instructions
    query = max(16, head // (3 * instructions))
    watermark = _watermark(settings, limits, budget, head, summary)
    return MemoryConfig(
        chunk_frames=frames,
        chunk_ticks=settings.chunk_ticks or 3 * frames,
        max_age_ms=settings.max_age_ms or 600_000,
        lead=lead,
        min_lead=lead if settings.fixed_lead else min(2, lead),
        max_lead=lead if settings.fixed_lead else _max_lead(frames, lead, cap),
        hard_cap_frames=cap,
        token_watermark=watermark,
        ring_frames=settings.ring_frames or max(1, min(10, frames - lead - 1)),
        rollup_every=settings.rollup_every,
        block_window=settings.block_window,
        block_trim=settings.block_trim,
        qa_entries=settings.qa_entries,
        qa_tokens=_below(settings.qa_tokens, min(4_096, head // 4), head // 2,
                         "qa_tokens", "half the prompt head"),
        max_prompt_tokens=budget,
        head_tokens=head,
        summary_max_tokens=summary,
        max_instructions=instructions,
        frame_tokens=settings.frame_tokens,
        system_tokens=settings.system_tokens,
        summary_attempts=settings.summary_attempts,
        query_chars=min(4_000, query) * CHARS_PER_TOKEN,
        fact_chars=max(32, min(4_000, budget // 16)) * CHARS_PER_TOKEN,
        max_reply_tokens=max_reply_tokens,
    )  # fmt: skip


def shrunk(
    config: MemoryConfig,
    *,
    max_tokens: int | None = None,
    max_images: int | None = None,
    frame_tokens: int | None = None,
) -> MemoryConfig:
    """The same configuration under lower limits the server has just insisted on.

    Unlike :func:`resolve` it never refuses: a session that runs goes on with what fits, down to one
    picture. ``frame_tokens`` is what a picture was seen to cost; None takes the guess.
    """
    budget = config.max_prompt_tokens
    if max_tokens is not None:
        budget = min(budget, max(MIN_BUDGET_TOKENS // 2, max_tokens))
    head = min(config.head_tokens, budget * 2 // 5)
    cost = config.frame_tokens if frame_tokens is None else frame_tokens
    holds = _holds(cost, config.system_tokens, budget - head, max_images)
    cap = max(1, min(config.hard_cap_frames, holds - 1))
    frames = config.chunk_frames if cap == config.hard_cap_frames else _largest(cap)
    lead = min(config.lead, default_lead(frames)) if frames > 2 else 0
    cap = min(cap, max(frames, 2 * (frames - lead) - 1))
    return replace(
        config,
        chunk_frames=frames,
        hard_cap_frames=cap,
        lead=lead,
        min_lead=min(config.min_lead, lead),
        max_lead=max(lead, min(config.max_lead, _max_lead(frames, lead, cap))),
        ring_frames=max(1, min(config.ring_frames, frames - lead - 1)),
        token_watermark=min(config.token_watermark, budget * 9 // 10),
        max_prompt_tokens=budget,
        head_tokens=head,
        qa_tokens=min(config.qa_tokens, head // 4),
        summary_max_tokens=min(config.summary_max_tokens, max(32, head // 10)),
        query_chars=min(
            config.query_chars, max(16, head // (3 * config.max_instructions)) * CHARS_PER_TOKEN
        ),
        fact_chars=min(config.fact_chars, max(32, budget // 16) * CHARS_PER_TOKEN),
    )


def _refuse_bad_numbers(settings: MemorySettings) -> None:
    for name, low in (
        ("chunk_frames", 3), ("chunk_ticks", 2), ("max_age_ms", 1_000), ("lead", 1),
        ("hard_cap_frames", 3), ("token_watermark", 256), ("ring_frames", 1), ("rollup_every", 2),
        ("block_window", 1), ("block_trim", 1), ("qa_entries", 1), ("qa_tokens", 16),
        ("summary_max_tokens", 16), ("max_instructions", 1), ("frame_tokens", 1),
        ("summary_attempts", 1),
    ):  # fmt: skip
        value = getattr(settings, name)
        if value is not None and value < low:
            raise ConfigError(f"memory.{name} = {value} is too small; use at least {low}")
    if settings.block_trim > settings.block_window:
        raise ConfigError("memory.block_trim is larger than memory.block_window; lower it")


def _budget(settings: MemorySettings, limits: ServerLimits, max_reply_tokens: int) -> int:
    room = None
    if limits.max_model_len is not None:
        room = limits.max_model_len - max_reply_tokens - RESERVE_TOKENS
    budget = _below(settings.max_prompt_tokens, room or UNKNOWN_BUDGET_TOKENS, room,
                    "max_prompt_tokens", "the server's context less the reply")  # fmt: skip
    if budget < MIN_BUDGET_TOKENS:
        raise ConfigError(
            f"a prompt of {budget} tokens is too small to watch anything; "
            f"serve the model with a context of at least "
            f"{MIN_BUDGET_TOKENS + max_reply_tokens + RESERVE_TOKENS} tokens"
        )
    return budget


def _below(value: int | None, derived: int, limit: int | None, name: str, what: str) -> int:
    if value is None:
        return derived
    if limit is not None and value > limit:
        raise ConfigError(f"memory.{name} = {value} exceeds {what} ({limit}); lower it")
    return value


def _holds(frame_tokens: int, system_tokens: int, tail: int, max_images: int | None) -> int:
    """Pictures that the tail's tokens and the server's image limit hold."""
    by_tokens = max(1, (tail - system_tokens) // (frame_tokens + TICK_TEXT_TOKENS))
    return by_tokens if max_images is None else min(by_tokens, max_images)


def _shape(settings: MemorySettings, holds: int, default_frames: int) -> tuple[int, int, int]:
    """F, lead and H."""
    if holds < 4:
        raise ConfigError(
            f"the server holds {holds} pictures in one prompt; at least 4 are needed: raise its "
            "image limit or context, or lower the picture size (memory.frame_tokens)"
        )
    top = holds - 1 if settings.hard_cap_frames is None else settings.hard_cap_frames
    frames = settings.chunk_frames or max(3, min(default_frames, _largest(min(top, holds - 1))))
    lead = settings.lead or default_lead(frames)
    cap = settings.hard_cap_frames or min(frames + 2 * lead, holds - 1, 2 * (frames - lead) - 1)
    if cap > holds - 1:
        raise ConfigError(
            f"memory.hard_cap_frames = {cap} exceeds what the server holds less one ({holds - 1}); "
            "lower it, or raise the server's image limit or context"
        )
    if cap < frames:
        raise ConfigError(
            f"memory.chunk_frames = {frames} with lead {lead} leaves no room below the hard cap: "
            f"the server holds {holds} pictures (one stays free); lower chunk_frames"
        )
    if cap - frames + lead >= frames - lead:
        raise ConfigError(
            f"memory.lead = {lead} and hard_cap_frames = {cap} carry {cap - frames + lead} "
            f"pictures into a chunk whose next summary is due at {frames - lead}; "
            "lower lead or the hard cap"
        )
    return frames, lead, cap


def _largest(cap: int) -> int:
    """Largest F with F + 2 · lead(F) ≤ ``cap``; almost ``cap`` itself where that is tiny."""
    for frames in range(cap, 5, -1):
        if frames + 2 * default_lead(frames) <= cap:
            return frames
    return max(1, cap - 1 if cap > 4 else cap)


def _max_lead(frames: int, lead: int, cap: int) -> int:
    return max(lead, min(frames // 5, (2 * frames - cap - 1) // 2))


def _watermark(
    settings: MemorySettings, limits: ServerLimits, budget: int, head: int, summary_tokens: int
) -> int:
    """A chunk must also fit into the request that summarises it, and have room beside the head."""
    derived = budget * 9 // 10
    if limits.max_model_len is not None:
        room = limits.max_model_len - summary_tokens - settings.system_tokens - RESERVE_TOKENS
        derived = max(min(derived, room), budget // 2)
    watermark = _below(settings.token_watermark, derived, budget, "token_watermark",
                       "the prompt budget")  # fmt: skip
    floor = head + settings.system_tokens + 4 * settings.frame_tokens
    if settings.token_watermark is not None and watermark < floor:
        raise ConfigError(
            f"memory.token_watermark = {watermark} leaves no room beside the head; "
            f"use at least {floor}, or lower max_prompt_tokens"
        )
    return watermark
