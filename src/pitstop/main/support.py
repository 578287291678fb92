"""The command that makes a support bundle, of a server or of the folder of one that does not run."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from pitstop.cli.context import Call
from pitstop.errors import NotFoundError, UsageError
from pitstop.kit.counts import counted


def support_bundle(
    call: Call,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="New file for it; default: pitstop-support-TIME.tar.gz in this folder"),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Data folder of a server that does not run: versions and logs, but no jobs", show_default=False),
    ] = None,
) -> None:
    """Collect what somebody who is to help needs: versions, settings, jobs, events, metrics, the ends of logs (docs/support.md).

    It has no data of jobs and no secrets. An error may quote a value: look through the file before you send it.
    """
    path = file or Path(time.strftime("pitstop-support-%Y%m%d-%H%M%S.tar.gz"))
    if path.exists():
        raise UsageError(f"{path} exists already: give another file.")
    content = call.service().support_bundle() if data is None else _of_folder(data)
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as new:
            new.write(content)
    except OSError as error:
        raise UsageError(f"The bundle cannot be written to {path}: {error.strerror}.") from None
    if call.structured:
        call.show({"file": str(path), "bytes": len(content)})
        return
    call.say(f"The support bundle is {path} ({counted(len(content), 'byte')}). Look through it before you send it.")


def _of_folder(data: Path) -> bytes:
    from pitstop.model.data_folder import DataFolder
    from pitstop.server.support import SupportDesk

    if not data.is_dir():
        raise NotFoundError(f"There is no data folder {data}.")
    return SupportDesk(DataFolder(data.resolve())).bundle(None)
