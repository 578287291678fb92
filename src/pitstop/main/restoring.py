"""Commands that put a backup back, and bring outputs in line with a data folder that was put back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pitstop.cli.backups import Folder
from pitstop.cli.context import Call
from pitstop.kit.counts import counted

if TYPE_CHECKING:
    from pitstop.outputs.later import SetAside

Data = Annotated[Path, typer.Option(help="Data folder that no server uses")]


def restore(
    call: Call,
    folder: Folder,
    data: Annotated[Path, typer.Option(help="New or empty folder, which a server then serves")],
    keep_outputs: Annotated[
        bool, typer.Option("--keep-outputs", help="Leave in the outputs what jobs have written after the backup")
    ] = False,
) -> None:
    """Put a backup into a new data folder, and take out of its jobs' outputs what is later; jobs go on at the next start."""
    from pitstop.server.restoring import restore_backup

    outcomes, place = restore_backup(folder, data, keep_outputs), data.absolute()
    call.say(f"The backup is in {place}. Start the server with: pitstop serve --data {place}")
    _tell(call, outcomes)


def withdraw(call: Call, data: Data) -> None:
    """Take out of the outputs what is later than a data folder that was put back by other means than 'pitstop restore'."""
    from pitstop.server.restoring import withdraw_later

    _tell(call, withdraw_later(data))


def _tell(call: Call, outcomes: Iterable[SetAside]) -> None:
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
