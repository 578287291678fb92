"""Tasks on this machine without a server: a process of its own does each, with a Spark of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from pitstop.model.task import Compilation, Compile, QueryCheckpoint, StateRows, Task


def rows_here(task: QueryCheckpoint) -> StateRows:
    """Return the rows of a query on a checkpoint."""
    from pitstop.kit.jsonable import from_json

    return from_json(StateRows, _done(task))


def compiled_here(task: Compile) -> Compilation:
    """Compile a version. ArtifactError, PipelineError or UsageError if it is faulty."""
    from pitstop.kit.jsonable import from_json
    from pitstop.runner.building import built_without_spark

    # Most mistakes show without Spark, which takes seconds to start. What the code prints is no answer of the command.
    with redirect_stdout(sys.stderr):
        built_without_spark(task.source, task.options)
    return from_json(Compilation, _done(task))


def _done(task: Task) -> Any:
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

        return do_task(task, folder, start)
