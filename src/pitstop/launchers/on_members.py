"""Runners on the members of a cluster: what a lost machine takes with it starts again on another one."""

from __future__ import annotations

import structlog

from pitstop.control.ports.assignments import Assignments, AssignmentState
from pitstop.control.ports.launcher import Launcher, RunHandle, RunSpec
from pitstop.control.ports.members import Members
from pitstop.kit.waiting import wait_until
from pitstop.launchers.processes import is_of_this_boot
from pitstop.model.cluster import MemberState

log = structlog.get_logger("pitstop.launcher")
KILL_SECONDS = 5.0
"""The longest that a member of another machine may take to end a process, in seconds; a slower one may be lost."""


class MembersLauncher:
    """A Launcher (control.ports) that lets the member with the fewest runs for its cores start each run.

    ``here`` starts what a warm process of this machine has made itself ready for, and every run while there is no member.
    """

    def __init__(self, here: Launcher, members: Members, assignments: Assignments) -> None:
        self._here, self._members, self._assignments = here, members, assignments

    def start(self, spec: RunSpec) -> None:
        if self._is_under_way(spec):
            return
        member = None if spec.standby is not None else self._least_busy()
        if member is None:
            self._here.start(spec)
            return
        self._assignments.assign(spec, member)
        log.info("a member starts the run", job=spec.job_id, token=spec.token, member=member)

    def start_failed(self, job_id: str, token: int) -> bool:
        assignment = self._assignments.of_run(job_id, token)
        if assignment is None:
            return self._here.start_failed(job_id, token)
        member, state = assignment
        return state is AssignmentState.FAILED or (state is AssignmentState.ASKED and member not in self._taking())

    def prepare(self) -> None:
        self._here.prepare()

    def alive(self, run: RunHandle) -> bool | None:
        return self._here.alive(run)

    def kill(self, run: RunHandle) -> None:
        if is_of_this_boot(run):
            self._here.kill(run)
            return
        self._assignments.ask_to_kill(run)
        wait_until(lambda: run not in self._assignments.to_kill(), KILL_SECONDS, step=0.1)

    def watch(self, run: RunHandle) -> None:
        self._here.watch(run)

    def _is_under_way(self, spec: RunSpec) -> bool:
        """Return True if a member has the run already: a control plane that has just begun to lead asks for it again."""
        assignment = self._assignments.of_run(spec.job_id, spec.token)
        return assignment is not None and assignment[1] is not AssignmentState.FAILED and assignment[0] in self._taking()

    def _least_busy(self) -> str | None:
        taking, load = self._taking(), self._assignments.load()
        return min(taking, key=lambda member: (load.get(member, 0) / taking[member], member), default=None)

    def _taking(self) -> dict[str, int]:
        """Return the members that take runs, with their cores."""
        return {member.id: member.cores for member in self._members.list() if member.state is MemberState.ACTIVE}
