"""The runs of a member. It starts their processes, reports when they end, and ends them on request.

The processes outlive the member, just as processes that a server starts outlive the server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import structlog

from pitstop.control.ports.assignments import Assignments, AssignmentState
from pitstop.control.ports.launcher import RunHandle, RunSpec
from pitstop.control.ports.wake import CONTROL, Wake
from pitstop.errors import StoreError
from pitstop.launchers.processes import Child

log = structlog.get_logger("pitstop.member")


class Processes(Protocol):
    """launchers.runner_processes.RunnerProcesses"""

    def start(self, spec: RunSpec) -> Child: ...

    def reap(self) -> None: ...


class HostedRuns:
    """Starts and ends the runs of a member. ``end`` ends a process and its children; False for another machine's."""

    def __init__(
        self, member_id: str, assignments: Assignments, processes: Processes, wake: Wake, end: Callable[[RunHandle], bool]
    ) -> None:
        self._member_id, self._assignments, self._processes = member_id, assignments, processes
        self._wake, self._end = wake, end
        self._started: dict[tuple[str, int], Child] = {}

    def step(self) -> None:
        """Look once for work, and do it. If the store is away, the next step tries again."""
        try:
            self._begin_and_end()
        except StoreError as error:
            log.warning("the store is away; trying again", reason=error.message)
        except Exception:
            # A member whose loop ended would take its Spark worker, and the executors of all jobs, with it.
            log.exception("runs could not be looked after; trying again")
        self._processes.reap()

    def _begin_and_end(self) -> None:
        for spec, state in self._assignments.runs_of(self._member_id):
            if state is AssignmentState.ASKED:
                self._begin(spec)
        for run, process in list(self._started.items()):
            if process.poll() is not None:
                self._tell(run, AssignmentState.FAILED)
                del self._started[run]
        for handle in self._assignments.to_kill():
            if self._end(handle):
                self._assignments.killed(handle)

    def _begin(self, spec: RunSpec) -> None:
        run = spec.job_id, spec.token
        if run not in self._started:  # else the store was away at the report
            try:
                self._started[run] = self._processes.start(spec)
            except Exception:  # any error: the other runs must not wait for this one
                log.exception("a run could not be started", job=spec.job_id, token=spec.token)
                self._tell(run, AssignmentState.FAILED)
                return
        self._assignments.tell(*run, AssignmentState.BEGUN)

    def _tell(self, run: tuple[str, int], state: AssignmentState) -> None:
        self._assignments.tell(*run, state)
        self._wake.wake(CONTROL)
