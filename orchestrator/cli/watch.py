"""``onlooker watch``: flags to settings, a run, and what is left of it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from onlooker.orchestrator.settings import Settings
    from onlooker.orchestrator.watch import WatchPlan


class SpeedChoice(StrEnum):
    realtime = "realtime"
    max = "max"


Text = Annotated[str | None, typer.Option()]


def watch(
    source: Annotated[
        str, typer.Argument(help="Video file, picture folder, camera number, rtsp:// URL, screen.")
    ],
    ask: Annotated[
        list[str] | None, typer.Option(help="A query asked at the start; may be repeated.")
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="TIME=TEXT", help="A query asked later, such as '12s=TEXT'."),
    ] = None,
    model_url: Annotated[
        str | None, typer.Option(help="Model server; without it the stand-in eye watches.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Name of the served model.")] = None,
    dialect: Annotated[str | None, typer.Option(help="joyvl or generic.")] = None,
    backend: Annotated[str | None, typer.Option(help="Model backend by name.")] = None,
    persona: Annotated[str | None, typer.Option(help="default, silent or talkative.")] = None,
    language: Annotated[str | None, typer.Option(help="Language tag, such as en.")] = None,
    fps: Annotated[float | None, typer.Option(help="Frames taken per second.")] = None,
    frames_per_tick: Annotated[
        int | None, typer.Option(help="Pictures shown per tick, 1 to 4.")
    ] = None,
    chunk_frames: Annotated[int | None, typer.Option(help="Pictures in a full chunk.")] = None,
    period_ms: Annotated[int | None, typer.Option(help="Milliseconds per tick.")] = None,
    speed: Annotated[
        SpeedChoice, typer.Option(help="max: as fast as possible; recordings only.")
    ] = SpeedChoice.realtime,
    loop: Annotated[bool, typer.Option("--loop", help="Begin again at the end.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per notice.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Plain lines, no live view.")] = False,
    report: Annotated[Path | None, typer.Option(help="Write a timeline page.")] = None,
    record: Annotated[Path | None, typer.Option(help="Write a recording for replay.")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file with settings.")] = None,
) -> None:
    """Watch SOURCE, and speak when what was asked for happens."""
    from onlooker.orchestrator.cli.running import Files, watch_to_the_end
    from onlooker.orchestrator.settings import load_settings

    overrides: dict[str, dict[str, Any]] = {
        "model": {"url": model_url, "name": model, "dialect": dialect, "backend": backend},
        "decision": {"persona": persona, "language": language},
        "video": {"fps": fps, "frames_per_tick": frames_per_tick},
        "memory": {"chunk_frames": chunk_frames},
        "cadence": {"period_ms": period_ms},
        "recorder": {"path": record},
    }
    settings = load_settings(overrides, file=config)
    plan = make_plan(settings, source, ask or [], at or [], speed, loop=loop)
    files = Files(report=report, record=settings.recorder.path)
    raise typer.Exit(watch_to_the_end(settings, plan, files, as_json=json, plain=plain))


def make_plan(
    settings: Settings,
    source: str,
    ask: list[str],
    at: list[str],
    speed: SpeedChoice,
    *,
    loop: bool = False,
) -> WatchPlan:
    """Checked queries and the rest of what was typed; raises ``ConfigError``."""
    from onlooker.orchestrator.cli.arguments import parse_at
    from onlooker.orchestrator.watch import Ask, Speed, WatchPlan, check_asks

    asks = [Ask(text) for text in ask]
    for text in at:
        moment, query = parse_at(text)
        asks.append(Ask(query, moment))
    check_asks(asks, settings.decision.max_query_chars)
    return WatchPlan(source, tuple(asks), Speed(speed.value), loop)
