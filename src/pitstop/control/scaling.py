"""Jobs that follow the members of a cluster, and the quorum of a protected job.

A job that runs has been planned for certain members. Once others have been there for a while, the job is rescaled: the same
version is made ready for them while the job goes on, then takes its state over at an epoch boundary, as in an update. A job that
does not follow stays on its members. If one of them is to leave, the job stops at an epoch boundary. If one is gone, the job is
suspended, or has failed if its guarantee keeps no state. Every member lends cores: there are no lite members.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pitstop.control.actions import FailExports, KillRun
from pitstop.control.decision import Decision, answer_all, ended, fenced, suspended, waiting
from pitstop.control.ports.members import Members
from pitstop.control.updating import awaits_epoch
from pitstop.errors import ConflictError, StoreError
from pitstop.kit.clock import Clock
from pitstop.kit.counts import counted
from pitstop.model.cluster import Member, MemberState, Placement
from pitstop.model.config import OF_ONE_START, ProcessingGuarantee
from pitstop.model.job import Job, JobState
from pitstop.model.operation import Rescale, Suspend, UpdateJob, rescaling_snapshot

LOST_SECONDS = 5.0
"""The seconds without a sign of a member after which a job has lost it. If the store was away, members come back after it."""
WAITED_SECONDS = 1.0
"""The seconds that a write has to wait if others have to wait, too."""
QUORUM_SECONDS = 2.0
"""The time between two looks of a job for its quorum, in seconds."""
MEMBER_LEAVES = "A member that the job ran on leaves the cluster, and auto_scaling is off."
AGAIN_SECONDS = (2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
"""The pause before a job is rescaled again, in seconds, after the first, second … attempt in a row."""


@dataclass(frozen=True)
class ClusterSeen:
    """Members have come or gone, and that may concern the job. ``members``: the ids of the present ones."""

    members: frozenset[str]


def quorum_of(size: int) -> int:
    """Return the smallest number that is more than half of ``size`` members."""
    return size // 2 + 1


def needed(job: Job) -> int:
    """Return the number of members that the job needs to run; 0 if it is not protected."""
    return job.quorum if job.version.config.split_brain_protection else 0


def planned_for(job: Job, placement: Placement | None) -> Job:
    """Return the job with its run up on these members. The quorum of a protected job may only grow; any other is set anew."""
    if placement is None:
        return dataclasses.replace(job, placement=None)
    return dataclasses.replace(job, placement=placement, quorum=max(needed(job), quorum_of(len(placement.members))))


def cluster_seen(job: Job, event: ClusterSeen, now: float) -> Decision:
    """End the run of a job that has lost its quorum, or a member that it needs; else let the quorum grow."""
    if len(event.members) < needed(job):
        return _ends_without_quorum(job, len(event.members))
    grown = dataclasses.replace(job, quorum=max(job.quorum, quorum_of(len(event.members)))) if needed(job) else job
    if not _has_lost_a_member(job, event.members):
        return Decision(grown)
    return _ends_without_member(grown, now)


def without_quorum(job: Job, size: int | None, now: float) -> Decision | None:
    """Let a job that is about to start wait for the members that it needs; None if it may start."""
    if size is None or size >= needed(job):
        return None
    waits = dataclasses.replace(job, due=now + QUORUM_SECONDS, interruption=_no_quorum(job, size))
    return Decision(waits)


def as_update(job: Job, request: Rescale) -> UpdateJob:
    """Return rescaling as an update, which is to the same version."""
    # In the saved state, stages that the version renamed have their new names, and dropped stages are missing.
    options = {key: value for key, value in job.version.options.items() if key not in ("initial_snapshot", *OF_ONE_START)}
    options |= {"renamed": {}}
    if request.state_store is not None:
        options |= {"state_store": request.state_store.value}
    return UpdateJob(job.version.source, options, request.snapshot)


def _stays_on_its_members(job: Job) -> bool:
    return job.placement is not None and not job.version.config.auto_scaling


class Scaler:
    """Watches the members, and tells which jobs their coming and going concerns. Only the control loop's thread uses it.

    ``check_writable`` raises StoreError if nothing can be written now: members that cannot report that they live are not lost.
    """

    def __init__(
        self, members: Members, clock: Clock, delay_seconds: float, check_writable: Callable[[], None] = lambda: None
    ) -> None:
        self._members, self._clock, self._delay = members, clock, delay_seconds
        self._check_writable = check_writable
        self._there: list[Member] = []
        self._changed = clock.monotonic()
        self._missing: dict[str, float] = {}
        """Id of a missing member, present before or planned for by a job -> the time since which it is missing."""
        self._attempts: dict[str, tuple[int, float]] = {}
        """Job -> the number of attempts in a row to rescale it, and the earliest time of the next one."""

    def look(self) -> None:
        """Look which members are there now."""
        there = self._members.list()
        if [(member.id, member.state) for member in there] != [(member.id, member.state) for member in self._there]:
            self._changed = self._clock.monotonic()
            self._attempts.clear()
        before, self._there = self._there, there
        self._miss(member.id for member in before)

    def _miss(self, members: Iterable[str]) -> None:
        present = {member.id for member in self._there}
        for member in set(members) - present:
            self._missing.setdefault(member, self._clock.monotonic())
        for member in present & self._missing.keys():
            del self._missing[member]

    @property
    def size(self) -> int:
        """The number of members."""
        return len(self._there)

    def concerns(self, job: Job) -> ClusterSeen | None:
        """Return the event to decide on if the present members concern the job; None if they do not."""
        if job.state is not JobState.RUNNING or job.placement is None:
            return None
        self._miss(job.placement.members)
        since = self._clock.monotonic() - LOST_SECONDS
        there = frozenset(member.id for member in self._there) | {m for m, at in self._missing.items() if at > since}
        quorum = needed(job)
        another_quorum = quorum and (len(there) < quorum or quorum_of(len(there)) > quorum)
        concerned = another_quorum or _has_lost_a_member(job, there)
        return ClusterSeen(there) if concerned and self._could_tell() else None

    def _could_tell(self) -> bool:
        """Return True if silent members could have reported. If not, their time begins anew; StoreError if the store is away."""
        began = self._clock.monotonic()
        try:
            self._check_writable()
        except StoreError:
            self._wait_anew()
            raise
        if self._clock.monotonic() - began < WAITED_SECONDS:
            return True
        self._wait_anew()
        return False

    def _wait_anew(self) -> None:
        self._missing = dict.fromkeys(self._missing, self._clock.monotonic())

    def suspend(self, job: Job) -> Suspend | None:
        """Return the request that stops a job at an epoch boundary if a member that it needs is about to leave; else None.

        A job whose guarantee keeps no state would gain nothing: it ends with the member.
        """
        keeps = job.version.config.processing_guarantee is not ProcessingGuarantee.NONE
        if job.state is not JobState.RUNNING or job.termination is not None or not keeps or not _stays_on_its_members(job):
            return None
        assert job.placement is not None
        leaving = {member.id for member in self._there if member.state is MemberState.LEAVING}
        return Suspend(because=MEMBER_LEAVES) if leaving & set(job.placement.members) else None

    def rescale(self, job: Job) -> Rescale | None:
        """Return the request to plan the job anew if that is due now; else None. A job is not asked for again for a while."""
        if not self._may_rescale(job):
            return None
        times, due = self._attempts.get(job.id, (0, 0.0))
        now = self._clock.monotonic()
        if now < max(due, self._changed + self._delay):
            return None
        self._attempts[job.id] = times + 1, now + AGAIN_SECONDS[min(times, len(AGAIN_SECONDS) - 1)]
        return Rescale(rescaling_snapshot(job.id))

    def _may_rescale(self, job: Job) -> bool:
        staying = [member for member in self._there if member.state is MemberState.ACTIVE]
        updates = job.update is not None and not awaits_epoch(job)
        busy = job.termination is not None or job.preparation is not None or updates
        if job.state is not JobState.RUNNING or job.placement is None or busy or not staying:
            return False
        if not job.version.config.auto_scaling or len(staying) < needed(job):
            return False
        return sum(member.cores for member in staying) != job.placement.cores


def _has_lost_a_member(job: Job, there: frozenset[str]) -> bool:
    if job.placement is None or not _stays_on_its_members(job):
        return False
    return not there.issuperset(job.placement.members)


def _ends_without_member(job: Job, now: float) -> Decision:
    reason = "A member that the job ran on has left the cluster, and auto_scaling is off."
    if job.version.config.processing_guarantee is not ProcessingGuarantee.NONE:
        return Decision(fenced(suspended(job, reason)), (FailExports(), KillRun(job.token)))
    meanwhile = answer_all(job, ConflictError(f"Job '{job.display_name}' failed meanwhile."))
    return Decision(fenced(ended(job, now, reason)), (*meanwhile, FailExports(), KillRun(job.token)))


def _ends_without_quorum(job: Job, size: int) -> Decision:
    waits = dataclasses.replace(waiting(job), interruption=_no_quorum(job, size))
    return Decision(fenced(waits), (FailExports(), KillRun(job.token)))


def _no_quorum(job: Job, size: int) -> str:
    there = f"{size} {'is' if size == 1 else 'are'} there"
    demand = f"{counted(job.quorum, 'member is', 'members are')} needed"
    return f"It waits for its quorum: {demand}, {there} (option split_brain_protection)"
