"""The commands, and how their errors reach the user.

Exit codes: 0 done; 1 an error, one typed line of it on stderr for each problem; 2 a command line
that cannot be understood; 130 interrupted, after everything was written.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from onlooker.errors import OnlookerError
from onlooker.orchestrator.cli.watch import watch

EXIT_ERROR: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130
"""As shells report a program that SIGINT ended."""

app = typer.Typer(
    name="onlooker",
    help="Makes a vision-language model watch a live stream and speak when it matters.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
bench = typer.Typer(help="Measure what Onlooker itself costs.", no_args_is_help=True)
app.add_typer(bench, name="bench")
app.command()(watch)


def _print_version(wanted: bool) -> None:
    if wanted:
        import onlooker

        typer.echo(f"onlooker {onlooker.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Nothing to do before a command: settings are read by the command that needs them."""


@app.command()
def config(
    config: Annotated[Path | None, typer.Option(help="TOML file with settings.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of TOML.")] = False,
) -> None:
    """Print the settings in force, secrets masked, and exit."""
    from onlooker.orchestrator.settings import as_json, as_toml, load_settings

    settings = load_settings(file=config)
    typer.echo(as_json(settings) if json else as_toml(settings), nl=json)


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help="A recording made with watch --record.")],
) -> None:
    """Feed a recording to a fresh core; exit 1 when its commands differ, and show where."""
    from onlooker.orchestrator.cli.replay import replay_file

    raise typer.Exit(replay_file(file))


@bench.command("core")
def bench_core(
    ticks: Annotated[int, typer.Option(min=1, help="Ticks to measure.")] = 1_000,
    json: Annotated[Path | None, typer.Option(help="Also write the figures to this file.")] = None,
) -> None:
    """The pure core and its prompt, per tick: p50, p99, allocations."""
    from onlooker.orchestrator import bench_core as benchmark

    raise typer.Exit(benchmark.main(ticks, json_path=json))


def print_error(error: OnlookerError) -> None:
    """One typed line for each problem, on stderr."""
    for line in error.message.splitlines() or [""]:
        print(f"error[{error.code}]: {line}", file=sys.stderr)
    if error.code == OnlookerError.code and error.__cause__ is not None:
        # A bug of ours: whoever reports it needs to see where.
        traceback.print_exception(error.__cause__, file=sys.stderr)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code and never raises on bad input."""
    try:
        code = app(
            args=None if arguments is None else list(arguments),
            prog_name="onlooker",
            standalone_mode=False,
        )
    except OnlookerError as error:
        print_error(error)
        return EXIT_ERROR
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED
    except Exception as error:
        # Usage errors come from the parser, which typer took from click and later made its own:
        # both have this method, and nothing else does.
        words = getattr(error, "format_message", None)
        if words is None:
            raise
        return _refuse_usage(str(words()), getattr(error, "exit_code", EXIT_USAGE))
    return code if isinstance(code, int) else 0


def _refuse_usage(words: str, code: int) -> int:
    """Typer shows help where no command was given; that is no error to explain."""
    if words.strip():
        line = " ".join(words.split()).rstrip(".")
        print(f"error[usage]: {line} — see onlooker --help", file=sys.stderr)
    return code


def main() -> None:
    """Entry point of the ``onlooker`` command."""
    sys.exit(run())
