"""How soon a JetJob runs that is applied while a runner is warm, how soon a JetJobSnapshot is exported, and how soon a status
says what the command line has done to a job.

Prints one line of JSON; ``{}`` if there is no Kubernetes (make kubernetes-rig), or if this is not root.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.kubernetes.manifests import snapshot
from tests.kubernetes.operating import IMAGES, make_jar, operator
from tests.kubernetes.phases import Phases
from tests.kubernetes.rig.cluster import Cluster
from tests.kubernetes.rig.node import Node
from tests.kubernetes.rig.tools import Tools
from tests.kubernetes.user import JOB_SECONDS, User

from kubernetes import DEFINITIONS
from pitstop.kit.waiting import wait_until
from pitstop.operator.kinds import JET_JOB, JET_JOB_SNAPSHOT

ROUNDS = 5


def a_runner_is_warm(cluster: Cluster) -> bool:
    return any(not ready.with_name("assignment.json").exists() for ready in cluster.claims.glob("**/spares/*/ready"))


def rounds(cluster: Cluster, user: User) -> tuple[list[float], list[float], list[float]]:
    """Seconds from ``kubectl apply`` to Running, and to Exported; from each change of a job's state until its status says so."""
    jobs, snapshots = Phases(cluster, JET_JOB), Phases(cluster, JET_JOB_SNAPSHOT)
    running, exported, said = [], [], []
    for number in range(ROUNDS):
        assert wait_until(lambda: a_runner_is_warm(cluster), JOB_SECONDS, 0.5), "no runner is warm"
        name = f"transaction-{number}"
        began = time.time()
        user.kubectl.apply(user.job(name))
        running.append(jobs.wait(name, "Running", JOB_SECONDS) - began)
        began = time.time()
        user.kubectl.apply(snapshot(f"snapshot-{number}", jetJobResourceName=name))
        exported.append(snapshots.wait(f"snapshot-{number}", "Exported", JOB_SECONDS) - began)
        said += user.restart_by_command(name, jobs)
        user.kubectl("delete", "jetjob", name, "--wait=true", seconds=JOB_SECONDS)
    return running, exported, said


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
            running, exported, said = rounds(cluster, user)
    print(
        json.dumps(
            {
                "running_median": statistics.median(running),
                "running_max": max(running),
                "exported_median": statistics.median(exported),
                "exported_max": max(exported),
                "said_median": statistics.median(said),
                "said_max": max(said),
            }
        )
    )


if __name__ == "__main__":
    main()
