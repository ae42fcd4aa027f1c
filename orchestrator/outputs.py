"""The commands one step of the core produced, in order."""

from __future__ import annotations

from onlooker.orchestrator.commands import Command, Emit
from onlooker.orchestrator.notices import Notice


class Outputs:
    """Shared by the parts of one core; drained at the end of each step."""

    def __init__(self) -> None:
        self._commands: list[Command] = []

    def add(self, command: Command) -> None:
        self._commands.append(command)

    def emit(self, notice: Notice) -> None:
        self._commands.append(Emit(notice))

    def drain(self) -> list[Command]:
        commands, self._commands = self._commands, []
        return commands
