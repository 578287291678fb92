"""What people ask of jobs and of the cluster in between. Not ways to break anything, but moments at which much is under way."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random

from pitstop.errors import PitstopError
from tests.chaos.cluster import MEMBERS, Cluster
from tests.chaos.fault import Fault

LONGEST_PAUSE = 3.0


class Operation(Fault):
    """Of one job."""

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        self._job = drawn.choice(cluster.jobs)
        self.ask(cluster, self._job)

    def ask(self, cluster: Cluster, job: str) -> None:
        raise NotImplementedError


class SuspendAndResume(Operation):
    name, hold, from_heal = "a job suspended for 3 s and resumed", 3.0, True

    def ask(self, cluster: Cluster, job: str) -> None:
        cluster.client.job(job).suspend()

    def heal(self, cluster: Cluster) -> None:
        cluster.resume(self._job)


class Restart(Operation):
    name = "a job restarted"

    def ask(self, cluster: Cluster, job: str) -> None:
        cluster.client.job(job).restart()


class Export(Operation):
    name = "a snapshot exported"

    def ask(self, cluster: Cluster, job: str) -> None:
        cluster.client.job(job).export_snapshot(f"chaos-{time.monotonic_ns()}")


class Update(Operation):
    name = "a job updated to the next version"

    def ask(self, cluster: Cluster, job: str) -> None:
        cluster.update(job)


class WrongUpdate(Operation):
    """To a version that no job can go on with: the one before goes on."""

    def __init__(self, version: str) -> None:
        self.name, self._version = f"a job updated to a version that {version}", version

    def ask(self, cluster: Cluster, job: str) -> None:
        cluster.update_wrongly(job, self._version)


class AddMember(Fault):
    """The third one. Jobs follow later, by themselves."""

    name = "a member added"

    def prepare(self, cluster: Cluster, drawn: Random) -> None:
        if len(names := cluster.member_names()) > MEMBERS:
            cluster.remove_member(drawn.choice(names))
            cluster.wait_settled()

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        cluster.add_member()


class RemoveMember(Fault):
    """Any of three. Jobs follow later, by themselves."""

    name = "a member removed"

    def prepare(self, cluster: Cluster, drawn: Random) -> None:
        if len(cluster.member_names()) <= MEMBERS:
            cluster.add_member()
            cluster.wait_settled()

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        cluster.remove_member(drawn.choice(cluster.member_names()))


class During(Fault):
    """A fault while an operation is under way: whatever becomes of the operation, no row does."""

    from_heal = True

    def __init__(self, operation: Operation, fault: Fault) -> None:
        self._operation, self._fault, self.hold = operation, fault, fault.hold
        self.name = f"{operation.name}; meanwhile {fault.name}"

    def prepare(self, cluster: Cluster, drawn: Random) -> None:
        self._fault.prepare(cluster, drawn)
        self.hold = self._fault.hold  # which some draw

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        self._asking = ThreadPoolExecutor(1)
        self._answer = self._asking.submit(self._operation.inject, cluster, drawn)
        time.sleep(drawn.uniform(0, LONGEST_PAUSE))
        self._fault.inject(cluster, drawn)

    def heal(self, cluster: Cluster) -> None:
        self._fault.heal(cluster)
        with contextlib.suppress(PitstopError):  # killed before it could answer, the server may do it all the same
            self._answer.result()
        self._operation.heal(cluster)
        self._asking.shutdown()
