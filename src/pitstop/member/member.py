"""The life of a member. It joins, keeps a Spark worker for the cluster's master, beats, and leaves when it is asked to.

A step looks once and never waits: all waiting is between steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import structlog

from pitstop.control.ports.members import Membership
from pitstop.errors import EngineError, StoreError
from pitstop.model.cluster import Member, MemberState, SparkCluster

BEAT_SECONDS = 1.0
FOLLOW_SECONDS = 20.0
"""The longest that a worker may take to follow a new master by itself, with its executors. After that it is started again."""
DRAIN_SECONDS = 60.0
"""The longest that the tasks of a leaving member may take to end."""

log = structlog.get_logger("pitstop.member")


class Worker(Protocol):
    """A Spark worker that was started."""

    def ended(self) -> bool: ...

    def works_for(self, master: str) -> bool:
        """True once the worker has reported the master at this URL as its own."""
        ...

    def drain(self) -> None:
        """Let the worker's executors end once their tasks are done. Jobs continue on the other members."""
        ...

    def drained(self) -> bool:
        """True once the worker has no executors left."""
        ...

    def stop(self) -> None:
        """End the worker and the executors that it has started."""
        ...


StartWorker = Callable[[SparkCluster], Worker]


class MemberProcess:
    """A member. ``cluster`` returns how to reach Spark's master now, and raises EngineError while there is none."""

    def __init__(
        self,
        member: Member,
        members: Membership,
        cluster: Callable[[], SparkCluster],
        start_worker: StartWorker,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic = monotonic
        self._leaves_by: float | None = None
        """The time at which a leaving member leaves even if work still runs on it. None: it is not to leave."""
        self._member, self._members, self._cluster, self._start_worker = member, members, cluster, start_worker
        self._worker: Worker | None = None
        self._works_for: SparkCluster | None = None
        self._to_follow_by: tuple[str, float] | None = None
        """A new master, and the time by which the worker must have followed it."""

    def join(self) -> None:
        """Join the cluster. ConflictError if another member has the name."""
        self._members.join(self._member)
        log.info("joined", member=self._member.name, cores=self._member.cores)

    def step(self) -> bool:
        """Beat, and look after the worker. False once the member has left. If the store is away, the next step beats again."""
        try:
            state = self._members.beat(self._member.id)
            if state is None:
                self.join()
        except StoreError as error:
            log.warning("the store is away; trying again", reason=error.message)
            state = None
        if state is MemberState.LEAVING and self._leaves_by is None:
            self._leaves_by = self._monotonic() + DRAIN_SECONDS
            log.info("leaving", member=self._member.name)
            if self._worker is not None:
                self._worker.drain()
        if self._leaves_by is None:
            self._see_to_worker()
            return True
        if self._worker is not None and not self._worker.drained() and self._monotonic() < self._leaves_by:
            return True
        self.leave()
        return False

    def leave(self) -> None:
        """End the worker, then leave the cluster."""
        if self._worker is not None:
            self._worker.stop()
            self._worker = None
        self._members.leave(self._member.id)
        log.info("left", member=self._member.name)

    def _see_to_worker(self) -> None:
        """Start or restart the worker as needed, so that it works for the present master."""
        try:
            cluster = self._cluster()
        except EngineError:
            return  # the master is not up yet
        if self._worker is not None and not self._may_go_on(self._worker, cluster):
            log.warning("the Spark worker is started again", member=self._member.name)
            self._worker.stop()
            self._worker = None
        if self._worker is None:
            self._worker, self._works_for, self._to_follow_by = self._start_worker(cluster), cluster, None

    def _may_go_on(self, worker: Worker, cluster: SparkCluster) -> bool:
        """False if the worker has ended, holds an outdated secret, or has not followed the new master in time."""
        followed = self._works_for
        if worker.ended() or followed is None or cluster.secret != followed.secret:
            return False
        if cluster.master == followed.master:
            return True
        if worker.works_for(cluster.master):
            self._works_for, self._to_follow_by = cluster, None
            return True
        if self._to_follow_by is None or self._to_follow_by[0] != cluster.master:
            self._to_follow_by = cluster.master, self._monotonic() + FOLLOW_SECONDS
        return self._monotonic() < self._to_follow_by[1]
