"""A member's life: it joins, keeps a Spark worker for the cluster's master, tells that it lives, and leaves when it is asked to.

A step looks once and never waits; all waiting is between steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import structlog

from pitstop.control.ports import Membership
from pitstop.errors import EngineError, StoreError
from pitstop.model.cluster import Member, MemberState, SparkCluster

BEAT_SECONDS = 1.0
FOLLOW_SECONDS = 20.0
"""How long a worker may take to follow a new master by itself, with its executors, before it is started again."""
DRAIN_SECONDS = 60.0
"""How long the tasks of a member that leaves may take to come to their end."""

log = structlog.get_logger("pitstop.member")


class Worker(Protocol):
    """A worker of Spark that has been started."""

    def ended(self) -> bool: ...

    def works_for(self, master: str) -> bool:
        """True once it has told that the master at this URL is its own."""
        ...

    def drain(self) -> None:
        """Let its executors end once their tasks are done; jobs go on on the others."""
        ...

    def drained(self) -> bool:
        """True once it has no executors any more."""
        ...

    def stop(self) -> None:
        """End it, with the executors that it has started."""
        ...


StartWorker = Callable[[SparkCluster], Worker]


class MemberProcess:
    """One member. ``cluster`` reads how Spark's master is reached now, EngineError if there is none (yet)."""

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
        """Since it was asked to leave: when it does, whatever runs on it then."""
        self._member, self._members, self._cluster, self._start_worker = member, members, cluster, start_worker
        self._worker: Worker | None = None
        self._works_for: SparkCluster | None = None
        self._to_follow_by: tuple[str, float] | None = None
        """A new master, and when the worker is to have followed it."""

    def join(self) -> None:
        """ConflictError if another member has the name."""
        self._members.join(self._member)
        log.info("joined", member=self._member.name, cores=self._member.cores)

    def step(self) -> bool:
        """Beat, and see to the worker; False once the member has left. A store that is away costs nothing but time."""
        try:
            told = self._members.beat(self._member.id)
            if told is None:
                self.join()
        except StoreError as error:
            log.warning("the store is away; trying again", reason=error.message)
            told = None
        if told is MemberState.LEAVING and self._leaves_by is None:
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
        """End the worker, then be a member no more."""
        if self._worker is not None:
            self._worker.stop()
            self._worker = None
        self._members.leave(self._member.id)
        log.info("left", member=self._member.name)

    def _see_to_worker(self) -> None:
        """There is a worker, and it works for the master that there is now."""
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
        """False if it has ended, or knows another secret, or has not followed the new master though that has looked for it."""
        known = self._works_for
        if worker.ended() or known is None or cluster.secret != known.secret:
            return False
        if cluster.master == known.master:
            return True
        if worker.works_for(cluster.master):
            self._works_for, self._to_follow_by = cluster, None
            return True
        if self._to_follow_by is None or self._to_follow_by[0] != cluster.master:
            self._to_follow_by = cluster.master, self._monotonic() + FOLLOW_SECONDS
        return self._monotonic() < self._to_follow_by[1]
