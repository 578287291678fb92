"""Processes as values: a test decides when they die, hang, or answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pitstop.control.ports.launcher import RunHandle, RunSpec
from pitstop.control.ports.ownership import RunnerLink
from pitstop.control.ports.wake import CONTROL, Wake
from pitstop.model.job import Job
from pitstop.model.run import Observation

LEASE_SECONDS = 10.0


@dataclass(eq=False)
class ScriptedProcess:
    """The process of one run. A test makes it act. It hangs if the test does not make it renew its lease."""

    handle: RunHandle
    spec: RunSpec
    _link: RunnerLink
    alive: bool = True
    watched: bool = False

    @property
    def link(self) -> RunnerLink:
        """The run's link to the store; AssertionError if the process is dead."""
        assert self.alive, f"{self.handle} is dead: it cannot do anything"
        return self._link

    def claim(self) -> Job:
        """Claim the job, as a runner does first of all."""
        return self.link.claim(self.spec.job_id, self.spec.token, self.handle, LEASE_SECONDS)

    def renew(self) -> None:
        self.link.renew(LEASE_SECONDS)

    def observe(self, observation: Observation) -> None:
        """Record a fact."""
        self.link.observe(observation)


class ScriptedLauncher:
    """A Launcher (control.ports) whose processes are :class:`ScriptedProcess`. ``link`` makes a link to the store for each."""

    def __init__(self, link: Callable[[], RunnerLink], wake: Wake) -> None:
        self._link, self._wake = link, wake
        self.started: list[ScriptedProcess] = []
        """All processes that were ever started, in order."""
        self._by_handle: dict[RunHandle, ScriptedProcess] = {}
        self._last_of: dict[str, ScriptedProcess] = {}
        self.killed: list[RunHandle] = []
        """The handles whose end was asked for, in order, including those of processes that were gone."""
        self.prepared = 0
        """The number of times that the launcher was asked to prepare for the next run."""
        self.refusal: Exception | None = None
        """The error that each start of a run raises, while it is set."""

    def start(self, spec: RunSpec) -> None:
        if self.refusal is not None:
            raise self.refusal
        handle = RunHandle(f"process-{len(self.started) + 1}")
        process = ScriptedProcess(handle, spec, self._link())
        self.started.append(process)
        self._by_handle[handle] = self._last_of[spec.job_id] = process

    def start_failed(self, job_id: str, token: int) -> bool:
        last = self._last_of.get(job_id)
        return last is not None and last.spec.token == token and not last.alive

    def prepare(self) -> None:
        self.prepared += 1

    def alive(self, run: RunHandle) -> bool:
        return self.process(run).alive

    def kill(self, run: RunHandle) -> None:
        self.killed.append(run)
        self.die(self.process(run))

    def watch(self, run: RunHandle) -> None:
        process = self.process(run)
        process.watched = True
        if not process.alive:
            self._wake.wake(CONTROL)

    # what a test does

    def forget(self) -> None:
        """Forget the runs, as the launcher of a new control plane would: processes go on, known only by their handles."""
        self._last_of.clear()
        for process in self.started:
            process.watched = False

    def process(self, run: RunHandle) -> ScriptedProcess:
        """Return the process of a handle. KeyError if it was never started here."""
        return self._by_handle[run]

    def living(self) -> list[ScriptedProcess]:
        """Return the processes that have not ended, in the order in which they were started."""
        return [process for process in self.started if process.alive]

    def die(self, process: ScriptedProcess) -> None:
        """End a process. The control plane is woken if it watches the process."""
        if process.alive:
            process.alive = False
            if process.watched:
                self._wake.wake(CONTROL)
