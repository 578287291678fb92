"""Do one task in a process of its own, such as compiling an artifact: the control plane runs no user code and no JVM.

The process joins an engine that is there, or starts a JVM of its own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Callable
from typing import Any

from pitstop.errors import EngineError, WaitTimeoutError, from_dict
from pitstop.kit.jsonable import to_json
from pitstop.launchers.processes import Child, wait_to_end
from pitstop.launchers.spares import last_line
from pitstop.model.process_folders import WorkerFolder
from pitstop.model.task import Adopt, Compile, QueryCheckpoint, Task, in_words, remedy

START_SECONDS = 30.0
"""The seconds that a process and Spark take to start, beside the time that the job's option compile_timeout gives to its code."""
STATE_SECONDS = 600.0
ADOPT_SECONDS = 6 * 3600.0
"""The longest that an adoption takes, which writes all state of a checkpoint anew."""
QUERY_SECONDS = 6 * 3600.0
"""The longest that a query on a checkpoint takes, whose user waits for it."""

Start = Callable[[list[str]], Child]
"""Starts ``pitstop.runner`` with arguments, in a session of its own; it prints into the log of the task's folder."""

_at_once = threading.BoundedSemaphore(2)
"""The most processes at once: each may start a JVM."""
_adoption = threading.BoundedSemaphore(1)
"""Adoptions may take hours: they come one after the other, and keep no other task waiting."""


def do_task(task: Task, folder: WorkerFolder, start: Start) -> Any:
    """Do a task and return the JSON value of its result (runner.worker_tasks), or raise its error; ``folder`` is used up.

    Raises WaitTimeoutError if it takes too long and EngineError if the process ends without a result, both naming the task.
    """
    folder.root.mkdir(parents=True, exist_ok=True)
    folder.request.write_text(json.dumps(to_json(task)))
    try:
        with _adoption if isinstance(task, Adopt) and not task.only_plan else _at_once:
            code = _run(task, start(["worker", "--task", task.kind, "--folder", str(folder.root)]))
        if not folder.result.exists():
            raise EngineError(f"{in_words(task)} ended without a result (exit code {code}): {_end_of(folder)}")
        answer = json.loads(folder.result.read_text())
    finally:
        shutil.rmtree(folder.root, ignore_errors=True)
    if "error" in answer:
        raise from_dict(answer["error"])
    return answer["result"]


def _run(task: Task, process: Child) -> int:
    seconds = START_SECONDS + task.seconds if isinstance(task, Compile) else _LONGEST.get(type(task), STATE_SECONDS)
    try:
        return wait_to_end(process, seconds)
    except subprocess.TimeoutExpired:
        raise WaitTimeoutError(f"{in_words(task)} was not done within {seconds:.0f} seconds.{remedy(task)}") from None


_LONGEST: dict[type[Task], float] = {Adopt: ADOPT_SECONDS, QueryCheckpoint: QUERY_SECONDS}


def _end_of(folder: WorkerFolder) -> str:
    return last_line(folder.log) or "it wrote nothing."
