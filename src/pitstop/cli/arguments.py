"""The arguments and options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

from pitstop.cli.completing import complete_jobs, complete_maps, complete_snapshots
from pitstop.errors import UsageError
from pitstop.kit.durations import milliseconds

Artifact = Annotated[str, typer.Argument(metavar="ARTIFACT", help="A .py, .zip, .whl or .sql file, or its URL")]
Arguments = Annotated[list[str] | None, typer.Argument(metavar="ARGS", help="Arguments of the job")]
Entry = Annotated[str | None, typer.Option("--class", "-c", metavar="MODULE:FUNCTION", help="The job in the artifact")]
JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="Name or id", autocompletion=complete_jobs)]
JobArguments = Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Names or ids", autocompletion=complete_jobs)]
SnapshotArgument = Annotated[str, typer.Argument(metavar="SNAPSHOT", help="Its name", autocompletion=complete_snapshots)]
MapArgument = Annotated[str, typer.Argument(metavar="MAP", help="Name of the map", autocompletion=complete_maps)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say whether it would be done, and do nothing")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask")]
Timeout = Annotated[
    str | None, typer.Option("--timeout", metavar="DURATION", help="Stop waiting after this time, such as 30s or 5m; it goes on")
]
Wait = Annotated[bool, typer.Option("--wait/--detach", " /-d", help="Wait until the job runs")]


def seconds_of(timeout: str | None) -> float | None:
    """Return the seconds of ``--timeout``, a number or a duration; None if it was not given."""
    if timeout is None:
        return None
    try:
        value: str | float = float(timeout)
    except ValueError:
        value = timeout
    seconds = milliseconds(value, "timeout") / 1000
    if not seconds:
        raise UsageError("A timeout is longer than nothing: write --detach to wait not at all, where a command has it.")
    return seconds
