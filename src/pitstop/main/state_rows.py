"""Rows of state that a process of its own reads, which needs no server."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from pitstop.model.task import QueryCheckpoint, StateRows


def rows_of(task: QueryCheckpoint) -> StateRows:
    """Return the rows of a query on a checkpoint, by a process with a Spark of its own."""
    from pitstop.kit.jsonable import from_json
    from pitstop.launchers.worker import do_task
    from pitstop.model.process_folders import WorkerFolder

    with tempfile.TemporaryDirectory(prefix="pitstop-") as temporary:
        folder = WorkerFolder(Path(temporary) / "worker")

        def start(command: list[str]) -> subprocess.Popen[bytes]:
            with folder.log.open("ab") as out:
                return subprocess.Popen(
                    [sys.executable, "-m", "pitstop.runner", *command],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )

        return from_json(StateRows, do_task(task, folder, start))
