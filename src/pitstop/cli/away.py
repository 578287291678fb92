"""Patience with a server that is away, in commands that follow something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pitstop.cli.context import Call
from pitstop.errors import PitstopError

if TYPE_CHECKING:
    from pitstop.client.away import Away

AWAY_SECONDS = 60.0
"""The seconds for which such a command keeps asking while the server is away."""


def patience(call: Call) -> Away:
    """Say once that the server is away; give up after a minute."""

    def away(error: PitstopError, seconds: float) -> None:
        if not seconds:
            say_away(call, error)
        if seconds > AWAY_SECONDS:
            raise error

    return away


def say_away(call: Call, error: PitstopError) -> None:
    """Say that the server is away, and that the command goes on once it answers."""
    call.warn(f"{error.message}\nContinuing as soon as it answers.")
