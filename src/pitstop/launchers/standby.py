"""A warm spare that makes itself ready for one version of a job while the version before still runs.

It is asked through files in its folder, ``task-<n>.json`` and ``answer-<n>.json``, and wake sockets on both sides. What it
has prepared stays in its process until it is given its run (launchers.spares); it writes nothing to the job before.
"""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from pitstop.errors import EngineError, WaitTimeoutError, from_dict
from pitstop.kit.wake import WakeSocket, wake
from pitstop.launchers.processes import write_json
from pitstop.launchers.spares import last_line
from pitstop.model.data_folder import SpareFolder
from pitstop.model.job import JobSource

TASK_SECONDS = 600.0
"""A rehearsal restores the whole state once; migrations read all of their stages'."""
LOOK_SECONDS = 1.0
"""How often to look whether the process still lives."""


class Standby:
    """One held spare; ``id`` names it in the wish for the update."""

    def __init__(self, spare_id: str, folder: SpareFolder, process: subprocess.Popen[bytes]) -> None:
        self.id, self._folder, self._process = spare_id, folder, process
        self._asked = 0

    def compile(
        self, job_id: str, job_name: str, source: JobSource, options: dict[str, Any], against: Path | None
    ) -> dict[str, Any]:
        """``{"plan", "migrations"}`` of the version, which it keeps compiled. Raises what is wrong with the version.

        ``against``: the checkpoint whose state it is to take over.
        """
        state = str(against) if against is not None else None
        task = {"job": job_id, "name": job_name, "source": source.to_dict(), "options": options, "against": state}
        return self._ask("compile", task)

    def rehearse(self, lineage: str) -> None:
        """Start the compiled version once from a copy of that checkpoint, without its sources and sinks, and drop the copy.

        Raises what kept it from starting. Afterwards all that it takes to start from that state is warm.
        """
        self._ask("rehearse", {"lineage": lineage})

    def _ask(self, what: str, task: dict[str, Any]) -> dict[str, Any]:
        self._asked += 1
        answer = self._folder.answer(self._asked)
        socket = WakeSocket(self._folder.answer_socket)
        try:
            write_json(self._folder.task(self._asked), {"do": what} | task)
            wake(self._folder.socket)
            self._wait(what, answer, socket)
        finally:
            socket.close()
        result: dict[str, Any] = json.loads(answer.read_text())
        if "error" in result:
            raise from_dict(result["error"])
        return result

    def _wait(self, what: str, answer: Path, socket: WakeSocket) -> None:
        deadline = time.monotonic() + TASK_SECONDS
        while not answer.exists():
            if self._process.poll() is not None:
                code, last = self._process.returncode, last_line(self._folder.log)
                raise EngineError(f"The warm runner ended while it was to {what} the new version (exit code {code}): {last}")
            if time.monotonic() > deadline:
                raise WaitTimeoutError(f"The warm runner did not {what} the new version within {TASK_SECONDS:.0f} seconds.")
            socket.wait(LOOK_SECONDS)
