"""Finds the runs that are gone: their process has ended, hangs, or never took its job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from pitstop.control.ports.launcher import Launcher
from pitstop.control.ports.registry import Registry
from pitstop.errors import StoreError
from pitstop.kit.clock import Clock
from pitstop.model.job import Job, JobState

log = structlog.get_logger("pitstop.control")

RUNNING_STATES = (JobState.STARTING, JobState.RUNNING)
"""States in which a job has a run."""
CLAIM_SECONDS = 90.0
"""The longest that a started run may take to claim its job, in seconds: it starts Python and Java, maybe on a busy machine."""
HANG_SECONDS = 30.0
"""The longest that the lease of a living process may stay expired, in seconds. The monotonic clock measures it, which stands
still while the machine sleeps: a run that slept with us gets the time to renew."""
SLOW_SECONDS = 2.0
"""The seconds for one write from which a store counts as busy: runs may be waiting to renew their leases."""

Run = tuple[str, int]
"""Job id and token."""


@dataclass(frozen=True)
class Gone:
    """A run that will do nothing more, and the sentence that says why."""

    job_id: str
    token: int
    reason: str


class Liveness:
    """Looks at the processes of runs; never acts on them."""

    def __init__(self, registry: Registry, launcher: Launcher, clock: Clock) -> None:
        self._registry, self._launcher, self._clock = registry, launcher, clock
        self._unclaimed_since: dict[Run, float] = {}
        self._expired_since: dict[Run, float] = {}
        self._watched: set[Run] = set()
        self._takes_writes: bool | None = None
        """True if the store takes writes; None until this look has asked the store."""

    def gone(self, jobs: list[Job], busy: Callable[[str], bool]) -> list[Gone]:
        """Return the runs of the jobs that are gone. Call it before the facts are read, so that a run's last words count first.

        A job with ``busy(id)`` is left alone: its run may still be about to be started.
        """
        self._takes_writes = None
        runs = [(job.id, job.token) for job in jobs if job.state in RUNNING_STATES and not busy(job.id)]
        self._forget_all_but(set(runs))
        reasons = [(run, self._reason_if_known(run)) for run in runs]
        return [Gone(*run, reason) for run, reason in reasons if reason is not None]

    def start_anew(self) -> None:
        """Give every run its whole time again: the store was away, so that nobody could claim or renew anything."""
        self._unclaimed_since.clear()
        self._expired_since.clear()

    def _reason_if_known(self, run: Run) -> str | None:
        try:
            return self._reason(run)
        except Exception:
            # A fault of one run must not keep the others from being looked at.
            log.exception("a run could not be looked at", job=run[0], token=run[1])
            return None

    def _reason(self, run: Run) -> str | None:
        handle = self._registry.handle_of(*run)
        if handle is None:
            return self._why_unclaimed(run)
        alive = self._launcher.alive(handle)
        # Of a process of another machine, who has started it may know.
        if alive is False or (alive is None and self._launcher.start_failed(*run)):
            return "The runner's process ended"
        if self._hangs(run):
            return "The runner stopped renewing its lease"
        if alive and run not in self._watched:
            self._watched.add(run)
            self._launcher.watch(handle)
        return None

    def _why_unclaimed(self, run: Run) -> str | None:
        if self._launcher.start_failed(*run):
            return "The runner ended before it took its job"
        if not self._store_takes_writes():
            self._unclaimed_since[run] = self._clock.monotonic()
        since = self._unclaimed_since.setdefault(run, self._clock.monotonic())
        if self._clock.monotonic() - since > CLAIM_SECONDS:
            return f"The runner did not start within {CLAIM_SECONDS:.0f} seconds"
        return None

    def _hangs(self, run: Run) -> bool:
        seconds = self._registry.lease_left(*run)
        if seconds is None or seconds > 0:
            self._expired_since.pop(run, None)
            return False
        if not self._store_takes_writes():
            self._expired_since[run] = self._clock.monotonic()
        since = self._expired_since.setdefault(run, self._clock.monotonic())
        return self._clock.monotonic() - since > HANG_SECONDS

    def _store_takes_writes(self) -> bool:
        """Return False while the store is away or locked, so that no run can claim its job or renew its lease.

        A locked store can still be read. It is asked once a look: the answer may take as long as a writer waits for others.
        """
        if self._takes_writes is None:
            self._takes_writes = self._writes_soon()
        return self._takes_writes

    def _writes_soon(self) -> bool:
        began = self._clock.monotonic()
        try:
            self._registry.check_writable()
        except StoreError:
            return False
        return self._clock.monotonic() - began < SLOW_SECONDS

    def _forget_all_but(self, runs: set[Run]) -> None:
        self._watched &= runs
        for times in (self._unclaimed_since, self._expired_since):
            for run in times.keys() - runs:
                del times[run]
