"""A warm spare that makes itself ready for one version of a job while the version before still runs.

Tasks and answers go through files in its folder, ``task-<n>.json`` and ``answer-<n>.json``, and wake sockets on both sides. Its
preparations stay in its process until it gets its run (launchers.spares). It writes nothing to the job before.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from pitstop.errors import EngineError, WaitTimeoutError, from_dict
from pitstop.kit.jsonable import from_json, to_json
from pitstop.launchers.processes import Child, write_json
from pitstop.launchers.spares import last_line
from pitstop.machine.wake import WakeSocket, wake
from pitstop.model.process_folders import SpareFolder
from pitstop.model.task import Compilation, Compile, Rehearse, remedy

TASK_SECONDS = 600.0
"""The longest that a task may take, in seconds. A rehearsal restores the whole state; migrations read that of their stages."""
LOOK_SECONDS = 1.0
"""The time between two looks whether the process still lives, in seconds."""


class HeldSpare:
    """One held spare (control.ports.workers.Standby); ``id`` names it when the job is told to start its run."""

    def __init__(self, spare_id: str, folder: SpareFolder, process: Child) -> None:
        self.id, self._folder, self._process = spare_id, folder, process
        self._number = 0

    def compile(self, task: Compile) -> Compilation:
        """Compile the version, and keep it compiled in the spare's process. Raises the error of a faulty version."""
        return from_json(Compilation, self._ask(task))

    def rehearse(self, task: Rehearse) -> None:
        """Start the compiled version once from a copy of a checkpoint, without its sources and sinks, and drop the copy.

        Raises what kept it from starting. Afterwards all that it takes to start from that state is warm.
        """
        self._ask(task)

    def _ask(self, task: Compile | Rehearse) -> Any:
        self._number += 1
        answer = self._folder.answer(self._number)
        socket = WakeSocket(self._folder.answer_socket)
        try:
            write_json(self._folder.task(self._number), {"task": task.kind, "request": to_json(task)})
            wake(self._folder.socket)
            self._wait(task, answer, socket)
        finally:
            socket.close()
        content = json.loads(answer.read_text())
        if "error" in content:
            raise from_dict(content["error"])
        return content["result"]

    def _wait(self, task: Compile | Rehearse, answer: Path, socket: WakeSocket) -> None:
        what, seconds = task.kind, task.seconds if isinstance(task, Compile) else TASK_SECONDS
        deadline = time.monotonic() + seconds
        while not answer.exists():
            if self._process.poll() is not None:
                code, last = self._process.returncode, last_line(self._folder.log)
                raise EngineError(f"The warm runner ended while it was to {what} the new version (exit code {code}): {last}")
            if time.monotonic() > deadline:
                message = f"The warm runner did not {what} the new version within {seconds:.0f} seconds."
                raise WaitTimeoutError(message + remedy(task))
            socket.wait(LOOK_SECONDS)
