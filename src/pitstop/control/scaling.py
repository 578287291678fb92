"""How jobs follow the members of a cluster (jet.md §1.5): AS1 to AS7, AS9, and the quorum of a protected job.

A job that runs has been planned for certain members. When others are there for a while it is rescaled: the same version is made
ready for them while it goes on, then takes its state over at an epoch boundary, as in an update. A job that does not follow stays
on its members; when one of them is to leave it stops at an epoch boundary, and when one is gone it is suspended, or has failed
if its guarantee keeps no state. AS3 has no meaning here: every member lends cores, there are none without (lite members).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pitstop.control.actions import FailExports, KillRun
from pitstop.control.decision import Decision, answer_all, ended, fenced, suspended, waiting
from pitstop.control.ports import Members
from pitstop.errors import ConflictError, StoreError
from pitstop.kit.clock import Clock
from pitstop.kit.counts import counted
from pitstop.model.cluster import Member, MemberState, Placement
from pitstop.model.config import ProcessingGuarantee
from pitstop.model.job import Job, JobState
from pitstop.model.operation import Rescale, Suspend, UpdateJob, rescaling_snapshot

LOST_SECONDS = 5.0
"""A member is lost to a job once nobody has seen it for so long: where the store was away, its members come back after it."""
WAITED_SECONDS = 1.0
"""Who had to wait for so long to write was not the only one."""
QUORUM_SECONDS = 2.0
"""How often a job without its quorum looks for it."""
MEMBER_LEAVES = "A member that the job ran on leaves the cluster, and auto_scaling is off."
AGAIN_SECONDS = (2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
"""How long after the first, second … attempt in a row to rescale a job the next one is made (AS5)."""


@dataclass(frozen=True)
class ClusterSeen:
    """Members have come or gone, and that may concern the job. ``members``: the ids of those that there are."""

    members: frozenset[str]


def quorum_of(size: int) -> int:
    """More than half of so many members."""
    return size // 2 + 1


def needed(job: Job) -> int:
    """How many members there must be for the job to run; 0 if it is not protected."""
    return job.quorum if job.version.config.split_brain_protection else 0


def planned_for(job: Job, placement: Placement | None) -> Job:
    """A run is up on these members: a protected job's quorum may grow, of any other job it is that of these members."""
    if placement is None:
        return dataclasses.replace(job, placement=None)
    return dataclasses.replace(job, placement=placement, quorum=max(needed(job), quorum_of(len(placement.members))))


def cluster_seen(job: Job, event: ClusterSeen, now: float) -> Decision:
    """End the run of a job that has lost its quorum, or a member that it does not do without; else the quorum may grow."""
    if len(event.members) < needed(job):
        return _ends_without_quorum(job, len(event.members))
    grown = dataclasses.replace(job, quorum=max(job.quorum, quorum_of(len(event.members)))) if needed(job) else job
    if not _has_lost_a_member(job, event.members):
        return Decision(grown)
    return _ends_without_member(grown, now)


def without_quorum(job: Job, size: int | None, now: float) -> Decision | None:
    """A job that is to start and has not the members that it needs: it goes on waiting. None if it may start."""
    if size is None or size >= needed(job):
        return None
    waits = dataclasses.replace(job, due=now + QUORUM_SECONDS, interruption=_no_quorum(job, size))
    return Decision(waits)


def as_update(job: Job, request: Rescale) -> UpdateJob:
    """The update that rescaling is: to the same version."""
    # What was renamed when the version came has its new name in the saved state, and what was dropped is not in it.
    options = {key: value for key, value in job.version.options.items() if key not in ("initial_snapshot", "allow_drop")}
    options |= {"renamed": {}}
    if request.state_store is not None:
        options |= {"state_store": request.state_store.value}
    return UpdateJob(job.version.source, options, request.snapshot)


def _stays_on_its_members(job: Job) -> bool:
    return job.placement is not None and not job.version.config.auto_scaling


class Scaler:
    """Watches who is there, and tells which jobs that concerns. Of one thread, the control loop's.

    ``check_writable`` raises StoreError if nothing can be written now: members that cannot tell that they live are not lost.
    """

    def __init__(
        self, members: Members, clock: Clock, delay_seconds: float, check_writable: Callable[[], None] = lambda: None
    ) -> None:
        self._members, self._clock, self._delay = members, clock, delay_seconds
        self._check_writable = check_writable
        self._there: list[Member] = []
        self._changed = clock.monotonic()
        self._missing: dict[str, float] = {}
        """Ids of members that were there, or that jobs were planned for -> since when they are not."""
        self._asked: dict[str, tuple[int, float]] = {}
        """Job -> how often in a row it was to be rescaled, and when that is tried again at the earliest."""

    def look(self) -> None:
        """See who is there now."""
        there = self._members.list()
        if [(member.id, member.state) for member in there] != [(member.id, member.state) for member in self._there]:
            self._changed = self._clock.monotonic()
            self._asked.clear()
        before, self._there = self._there, there
        self._miss(member.id for member in before)

    def _miss(self, known: Iterable[str]) -> None:
        present = {member.id for member in self._there}
        for member in set(known) - present:
            self._missing.setdefault(member, self._clock.monotonic())
        for member in present & self._missing.keys():
            del self._missing[member]

    @property
    def size(self) -> int:
        """How many members there are."""
        return len(self._there)

    def concerns(self, job: Job) -> ClusterSeen | None:
        """What is to be decided for a job because of who is there; None if nothing is."""
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
        """Whether members that have told nothing could have. StoreError if the store is away; their time begins anew then."""
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
        """What to ask for if a member is about to leave that a job does not do without, so that it stops at an epoch boundary
        (AS6); None if nothing is. A job whose guarantee keeps no state has nothing of that: it ends with the member.
        """
        keeps = job.version.config.processing_guarantee is not ProcessingGuarantee.NONE
        if job.state is not JobState.RUNNING or job.termination is not None or not keeps or not _stays_on_its_members(job):
            return None
        assert job.placement is not None
        leaving = {member.id for member in self._there if member.state is MemberState.LEAVING}
        return Suspend(because=MEMBER_LEAVES) if leaving & set(job.placement.members) else None

    def rescale(self, job: Job) -> Rescale | None:
        """What to ask for if the job is to be planned anew now; None if not. Asked, it is not asked again for a while."""
        if not self._may_rescale(job):
            return None
        times, due = self._asked.get(job.id, (0, 0.0))
        now = self._clock.monotonic()
        if now < max(due, self._changed + self._delay):
            return None
        self._asked[job.id] = times + 1, now + AGAIN_SECONDS[min(times, len(AGAIN_SECONDS) - 1)]
        return Rescale(rescaling_snapshot(job.id))

    def _may_rescale(self, job: Job) -> bool:
        staying = [member for member in self._there if member.state is MemberState.ACTIVE]
        busy = job.termination is not None or job.preparation is not None or job.update is not None
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
    needed = f"{counted(job.quorum, 'member is', 'members are')} needed"
    return f"It waits for its quorum: {needed}, {there} (option split_brain_protection)"
