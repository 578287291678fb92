"""Commands that take a backup, put it back, and bring outputs in line with a data folder that was put back."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from pitstop.cli.context import Call
from pitstop.cli.register import register
from pitstop.kit.counts import counted

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the backup")]
Data = Annotated[Path, typer.Option(help="Data folder that no server uses")]


def backup(call: Call, folder: Folder) -> None:
    """Copy all that the server keeps into a new folder of its machine, as it is at one moment; jobs go on (docs/backup.md)."""
    copy = call.service().backup(str(folder.absolute()))
    if call.structured:
        call.show(asdict(copy))
        return
    call.say(
        f"Backup of {counted(copy.jobs, 'job')} and {counted(copy.snapshots, 'snapshot')} ({counted(copy.bytes, 'byte')}) in "
        f"{copy.folder}. "
        f"Put it back with: pitstop restore {copy.folder} --data DATA"
    )


def restore(
    call: Call,
    folder: Folder,
    data: Annotated[Path, typer.Option(help="New or empty folder, which a server then serves")],
    keep_outputs: Annotated[
        bool, typer.Option("--keep-outputs", help="Leave in the outputs what jobs have written after the backup")
    ] = False,
) -> None:
    """Put a backup into a new data folder, and take out of its jobs' outputs what is later; jobs go on at the next start."""
    outcomes, place = _restoring().restore_backup(folder, data, keep_outputs), data.absolute()
    call.say(f"The backup is in {place}. Start the server with: pitstop serve --data {place}")
    _tell(call, outcomes)


def withdraw(call: Call, data: Data) -> None:
    """Take out of the outputs what is later than a data folder that was put back by other means than 'pitstop restore'."""
    _tell(call, _restoring().withdraw_later(data))


def _restoring() -> Any:
    # Imported by name, as the server: a layer above the command line, and only these commands need it.
    return importlib.import_module("pitstop.server.restoring")


def _tell(call: Call, outcomes: Iterable[Any]) -> None:
    if call.structured:
        call.show([asdict(each) for each in outcomes])
        return
    for each in outcomes:
        if each.files is None:
            call.warn(
                f"Sink '{each.sink}' of job {each.job_id}: its folder {each.folder} does not exist. If it comes back "
                "with rows that are newer than the backup, run 'pitstop withdraw' before the job goes on."
            )
        elif each.files:
            files = counted(each.files, "later file")
            call.say(f"Sink '{each.sink}' of job {each.job_id}: {files} of {each.folder} moved to {each.aside}")


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    for command in (backup, restore, withdraw):
        register(app, command)
