"""``python -m onlooker.testing.fakevllm``: the fake as a process of its own."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from onlooker.bridges.testing.fakevllm.app import FakeVLLM
from onlooker.bridges.testing.fakevllm.config import FakeConfig
from onlooker.bridges.testing.fakevllm.faults import Fault, FaultKind
from onlooker.bridges.testing.fakevllm.replies import ReplyFunction, default_reply, scripted
from onlooker.bridges.testing.fakevllm.request import FakeRequest
from onlooker.bridges.testing.fakevllm.server import serve


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until interrupted; the exit status."""
    options = _parser().parse_args(arguments)
    try:
        fake = build_fake(options)
    except (OSError, UnicodeDecodeError) as error:
        print(f"error: {options.script} cannot be read: {type(error).__name__}", file=sys.stderr)
        return 2
    try:
        asyncio.run(_serve(fake, options.port))
    except OSError as error:
        print(f"error: port {options.port} cannot be used: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def build_fake(options: argparse.Namespace) -> FakeVLLM:
    """The fake that the options describe."""
    config = FakeConfig(
        model=options.model,
        max_model_len=options.max_model_len,
        max_images=options.max_images,
        block_tokens=options.block_size,
        api_key=options.api_key,
        first_token_s=options.first_token_ms / 1000,
        token_s=options.token_ms / 1000,
    )
    fake = FakeVLLM(config, reply=_reply(options.reply, options.script))
    for number, fault in options.fault:
        if number is None:
            fake.faults.always(fault)
        else:
            fake.faults.at(number, fault)
    return fake


def _reply(text: str | None, script: Path | None) -> ReplyFunction:
    if script is not None:
        return scripted(script.read_text(encoding="utf-8").splitlines())
    if text is None:
        return default_reply

    def fixed(request: FakeRequest) -> str:
        return default_reply(request) if request.is_summary else text

    return fixed


def parse_fault(text: str) -> tuple[int | None, Fault]:
    """``name``, ``name:tokens``, ``name@number`` or ``name:tokens@number``."""
    name, _, number = text.partition("@")
    name, _, tokens = name.partition(":")
    try:
        fault = Fault(FaultKind(name), int(tokens) if tokens else 1)
        return (int(number) if number else None), fault
    except ValueError as error:
        known = ", ".join(kind.value for kind in FaultKind)
        raise argparse.ArgumentTypeError(
            f"{text!r} is no fault; use NAME[:TOKENS][@NUMBER] with one of: {known}"
        ) from error


def _parser() -> argparse.ArgumentParser:
    config = FakeConfig()
    parser = argparse.ArgumentParser(
        prog="python -m onlooker.testing.fakevllm",
        description="A stand-in for `vllm serve`, on 127.0.0.1 only. It is silent unless the last "
        "user message holds #respond or #delegate.",
    )
    add = parser.add_argument
    add("--port", type=int, required=True, help="port to listen on; 0 takes a free one")
    add("--model", default=config.model, help="name of the served model")
    add("--reply", metavar="TEXT", help="say this at every decision")
    add("--script", type=Path, metavar="FILE", help="say each line of FILE at one decision")
    add("--max-model-len", type=int, default=config.max_model_len, metavar="TOKENS")
    add("--max-images", type=int, default=config.max_images, metavar="N")
    add("--block-size", type=int, default=config.block_tokens, metavar="TOKENS")
    add("--api-key", metavar="KEY", help="refuse requests without it")
    add("--first-token-ms", type=float, default=0.0, metavar="MS")
    add("--token-ms", type=float, default=0.0, metavar="MS", help="time between tokens")
    add(
        "--fault",
        type=parse_fault,
        action="append",
        default=[],
        metavar="NAME[:TOKENS][@NUMBER]",
        help="go wrong at every request, or at the NUMBER-th, after TOKENS tokens where it "
        "streams; " + ", ".join(kind.value for kind in FaultKind),
    )
    return parser


async def _serve(fake: FakeVLLM, port: int) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Not available on every platform; the default then ends the process as well.
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, stopped.set)
    async with serve(fake, port=port) as server:
        print(f"FakeVLLM serves {fake.config.model!r} at {server.url}", flush=True)
        await stopped.wait()
