"""The operator with many resources, on the Kubernetes of the tests: what it costs while nothing happens, and how soon it looks.

Prints one line of JSON; ``{}`` if there is no Kubernetes (make kubernetes-rig), or if this is not root.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from lightkube import KubeConfig
from tests.kubernetes.interrupting_proxy import InterruptingProxy
from tests.kubernetes.manifests import job
from tests.kubernetes.operating import operator
from tests.kubernetes.rig.cluster import Cluster
from tests.kubernetes.rig.tools import Tools

from pitstop.kit.waiting import wait_until
from pitstop.operator.kinds import JET_JOB
from pitstop.operator.kube.api import Api
from pitstop.operator.kube.cache import Cache

STEADY_JOBS, LATENCY_JOBS = 1_000, 500
STEADY_SECONDS = 60.0
DEFINITIONS = Path(__file__).parents[1] / "deploy" / "kubernetes" / "crds.yaml"
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Watched:
    """When each JetJob was first seen, and when it first had a status that says more of its present generation."""

    def __init__(self, config: KubeConfig) -> None:
        self.made: dict[str, float] = {}
        self.said: dict[str, float] = {}
        self.stopped = threading.Event()
        cache = Cache(JET_JOB, lambda: Api(config), self._changed)
        threading.Thread(target=cache.follow, args=(self.stopped,), daemon=True).start()

    def _changed(self, found: dict) -> None:
        name, now = found["metadata"]["name"], time.monotonic()
        self.made.setdefault(name, now)
        if "phase" in found.get("status", {}):
            self.said.setdefault(name, now)


def wait_for_statuses(watched: Watched, count: int) -> None:
    assert wait_until(lambda: len(watched.said) == count, 300, 0.1), f"{len(watched.said)} of {count} have a status"


def main() -> None:
    tools = Tools.find()
    if tools is None or os.geteuid() != 0:
        print("{}")
        return
    with tempfile.TemporaryDirectory(prefix="pitstop-bench-") as made:
        folder = Path(made)
        with (
            Cluster.start(folder / "cluster", tools, [DEFINITIONS]) as cluster,
            InterruptingProxy(cluster, folder).serving() as proxy,
        ):
            requests: list[str] = []
            proxy.answer_itself = lambda request: requests.append(f"{request.method} {request.url.path}")
            with operator(proxy, folder / "operator") as process:
                wait_until(lambda: "leads" in process.log.read_text(), 60, 0.1)
                watched = Watched(KubeConfig.from_file(cluster.kubeconfig))
                for begin in range(0, STEADY_JOBS, LATENCY_JOBS):
                    jobs = [job(f"job-{number}") for number in range(begin, begin + LATENCY_JOBS)]
                    cluster.kubectl.apply(*jobs)
                    wait_for_statuses(watched, begin + LATENCY_JOBS)
                waits = sorted(watched.said[name] - watched.made[name] for name in watched.made)
                time.sleep(5)  # what was asked for while it began is over
                before, asked = cpu_seconds(process.pid), len(requests)
                time.sleep(STEADY_SECONDS)
                used = cpu_seconds(process.pid) - before
                steady = [each for each in requests[asked:] if "/leases/" not in each]
                print(
                    json.dumps(
                        {
                            "steady_core_share": used / STEADY_SECONDS,
                            "steady_requests": len(steady),
                            "status_after_creation_p50": waits[len(waits) // 2],
                            "status_after_creation_p99": waits[int(len(waits) * 0.99)],
                        }
                    )
                )


if __name__ == "__main__":
    main()
