"""How soon a JetJob runs that is applied while a runner is warm, and how soon a JetJobSnapshot is exported.

Prints one line of JSON; ``{}`` if there is no Kubernetes (make kubernetes-rig), or if this is not root.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from lightkube import KubeConfig
from tests.kubernetes.manifests import snapshot
from tests.kubernetes.operating import IMAGES, make_jar, operator
from tests.kubernetes.rig.cluster import Cluster
from tests.kubernetes.rig.node import Node
from tests.kubernetes.rig.tools import Tools
from tests.kubernetes.user import JOB_SECONDS, User

from kubernetes import DEFINITIONS
from pitstop.kit.waiting import wait_until
from pitstop.operator.kinds import JET_JOB, JET_JOB_SNAPSHOT
from pitstop.operator.kube.api import Api
from pitstop.operator.kube.cache import Cache

ROUNDS = 5


class Moments:
    """When a resource of a kind was first seen in each phase."""

    def __init__(self, kind, config: KubeConfig) -> None:
        self.of: dict[tuple[str, str], float] = {}
        cache = Cache(kind, lambda: Api(config), self._changed)
        threading.Thread(target=cache.follow, args=(threading.Event(),), daemon=True).start()

    def _changed(self, found: dict) -> None:
        status = found.get("status", {})
        self.of.setdefault((found["metadata"]["name"], status.get("phase") or status.get("state") or ""), time.monotonic())

    def wait(self, name: str, phase: str) -> float:
        assert wait_until(lambda: (name, phase) in self.of, JOB_SECONDS, 0.02), f"{name} is not {phase}"
        return self.of[name, phase]


def a_runner_is_warm(cluster: Cluster) -> bool:
    return any(not ready.with_name("assignment.json").exists() for ready in cluster.claims.glob("**/spares/*/ready"))


def rounds(cluster: Cluster, user: User) -> tuple[list[float], list[float]]:
    """Seconds from ``kubectl apply`` to Running, and to Exported."""
    config = KubeConfig.from_file(cluster.kubeconfig)
    jobs, snapshots = Moments(JET_JOB, config), Moments(JET_JOB_SNAPSHOT, config)
    running, exported = [], []
    for number in range(ROUNDS):
        assert wait_until(lambda: a_runner_is_warm(cluster), JOB_SECONDS, 0.5), "no runner is warm"
        name = f"transaction-{number}"
        began = time.monotonic()
        user.kubectl.apply(user.job(name))
        running.append(jobs.wait(name, "Running") - began)
        began = time.monotonic()
        user.kubectl.apply(snapshot(f"snapshot-{number}", jetJobResourceName=name))
        exported.append(snapshots.wait(f"snapshot-{number}", "Exported") - began)
        user.kubectl("delete", "jetjob", name, "--wait=true", seconds=JOB_SECONDS)
    return running, exported


def main() -> None:
    tools = Tools.find()
    if tools is None or os.geteuid() != 0:
        print("{}")
        return
    with tempfile.TemporaryDirectory(prefix="pitstop-bench-") as made:
        folder = Path(made)
        make_jar(folder)
        with (
            Cluster.start(folder / "cluster", tools, [DEFINITIONS]) as cluster,
            Node.start(cluster, folder / "node-1", images=IMAGES),
            operator(cluster, folder / "operator", f"--files-from={folder}", "--spares=1"),
        ):
            user = User(cluster.kubectl.within("default"), folder)
            user.start_cluster()
            running, exported = rounds(cluster, user)
    print(
        json.dumps(
            {
                "running_median": statistics.median(running),
                "running_max": max(running),
                "exported_median": statistics.median(exported),
                "exported_max": max(exported),
            }
        )
    )


if __name__ == "__main__":
    main()
