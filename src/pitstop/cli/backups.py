"""The command that takes a backup of a server."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pitstop.cli.context import Call
from pitstop.cli.register import register
from pitstop.kit.counts import counted

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the backup")]


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


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    register(app, backup)
