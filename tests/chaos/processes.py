"""Processes that are killed, or stand still for a while."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from random import Random

from tests.chaos.cluster import Cluster, below
from tests.chaos.fault import Fault

LEASE_OVER, LOST = 15.0, 60.0
"""After so many seconds the lease of a run that stands still is over, and a member silent; then the run has lost its job."""
Pick = Callable[[Cluster, Random], list[int]]


def a_runner(cluster: Cluster, drawn: Random) -> list[int]:
    return cluster.runner(drawn.choice(cluster.jobs))


def a_whole_run(cluster: Cluster, drawn: Random) -> list[int]:
    """The runner with its JVM and Python workers."""
    roots = a_runner(cluster, drawn)
    return [*roots, *below(roots)]


def a_jvm(cluster: Cluster, drawn: Random) -> list[int]:
    """The Spark driver of a run."""
    return below(a_runner(cluster, drawn))[:1]


def the_engine(cluster: Cluster, drawn: Random) -> list[int]:
    """The JVM that jobs share where there are no members."""
    return cluster.engines()


def a_worker(cluster: Cluster, drawn: Random) -> list[int]:
    return cluster.worker(drawn.choice(cluster.member_names()))


def an_executor(cluster: Cluster, drawn: Random) -> list[int]:
    found = cluster.executors(drawn.choice(cluster.member_names()))
    return [drawn.choice(found)] if found else []


def the_master(cluster: Cluster, drawn: Random) -> list[int]:
    return cluster.master()


def a_member_process(cluster: Cluster, drawn: Random) -> list[int]:
    return cluster.member(drawn.choice(cluster.member_names()))


def a_machine(cluster: Cluster, drawn: Random) -> list[int]:
    return cluster.machine(drawn.choice(cluster.member_names()))


def the_server(cluster: Cluster, drawn: Random) -> list[int]:
    return cluster.server_process()


class Kill(Fault):
    """SIGKILL, at once for all that is picked."""

    def __init__(self, what: str, pick: Pick) -> None:
        self.name, self._pick = f"{what} killed", pick

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        for pid in self._pick(cluster, drawn):
            send(pid, signal.SIGKILL)


class KillRunner(Fault):
    """Anywhere in an epoch."""

    name = "a runner killed, a spare is ready"

    def impossible(self, cluster: Cluster) -> str | None:
        return None if cluster.spares else "there are no spares here"

    def prepare(self, cluster: Cluster, drawn: Random) -> None:
        self._job = drawn.choice(cluster.jobs)
        self.prepare_spares(cluster)
        wait_planned(cluster, self._job)
        time.sleep(drawn.random())

    def prepare_spares(self, cluster: Cluster) -> None:
        cluster.wait(cluster.spare_ready, "a spare is ready")

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        for pid in cluster.runner(self._job):
            send(pid, signal.SIGKILL)


class KillRunnerCold(KillRunner):
    """While the next process has yet to warm up."""

    name = "a runner killed, cold"

    def impossible(self, cluster: Cluster) -> str | None:
        return None

    def prepare_spares(self, cluster: Cluster) -> None:
        cluster.kill_spares()
        cluster.wait(lambda: not cluster.spare_ready(), "no spare is ready")


class KillRunnerAgain(KillRunner):
    """And the next one, too, in its first epoch, which repeats what the first one had planned."""

    name, from_heal = "a runner killed, and the next one in its first epoch", True

    def impossible(self, cluster: Cluster) -> str | None:
        return None

    def prepare_spares(self, cluster: Cluster) -> None:
        """Whether one is ready is left to chance."""

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        first = cluster.runner(self._job)
        for pid in first:
            send(pid, signal.SIGKILL)
        cluster.wait(lambda: cluster.runner(self._job) not in ([], first), "the next run")
        wait_planned(cluster, self._job)
        time.sleep(drawn.random() / 2)
        for pid in cluster.runner(self._job):
            send(pid, signal.SIGKILL)


def wait_planned(cluster: Cluster, job: str) -> None:
    """Until an epoch is under way."""
    checkpoint = cluster.checkpoint(job)
    cluster.wait(lambda: checkpoint.planned() > checkpoint.committed(), "an epoch is under way", step=0.005)


class KillServer(Fault):
    """The control plane is gone for a while; recovery counts from then, for no data shall wait for it."""

    name, hold = "the control plane killed, away for 8 s", 8.0

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        cluster.kill_server()

    def heal(self, cluster: Cluster) -> None:
        cluster.start_server()


class KillAll(Fault):
    """Every process at once, as when the power fails."""

    name, from_heal = "everything killed at once", True

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        cluster.kill_everything()
        cluster.kill_server()

    def heal(self, cluster: Cluster) -> None:
        cluster.start_server()


class Stop(Fault):
    """SIGSTOP, and SIGCONT a while later."""

    def __init__(self, what: str, pick: Pick, hold: float, from_heal: bool = False) -> None:
        self.name, self._pick, self.hold, self.from_heal = f"{what} stopped for {hold:.0f} s", pick, hold, from_heal
        self._stopped: list[int] = []

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        self._stopped = self._pick(cluster, drawn)
        for pid in self._stopped:
            send(pid, signal.SIGSTOP)

    def heal(self, cluster: Cluster) -> None:
        for pid in self._stopped:
            send(pid, signal.SIGCONT)


def send(pid: int, number: signal.Signals) -> None:
    """One that is gone is none of our business."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
