"""A node of a cluster, as tests see it: the process of its agent, and the processes of its pods."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.kubernetes.rig.agent.settings import Image, Settings, process_file
from tests.kubernetes.rig.clients import ClientError
from tests.kubernetes.rig.cluster import Cluster
from tests.kubernetes.rig.processes import RigProcess, plain_variables
from tests.kubernetes.rig.tools import ROOT

READY_SECONDS = 60.0


@dataclass(frozen=True)
class Node:
    """``start`` makes one. ``process``: its agent; when that ends, so do all processes of its pods, as if the power had gone."""

    name: str
    folder: Path
    process: RigProcess

    @classmethod
    @contextlib.contextmanager
    def start(
        cls, cluster: Cluster, folder: Path, name: str = "node-1", images: Mapping[str, Image] | None = None
    ) -> Iterator[Node]:
        """One more node of the cluster, until this is left; ``images``: those that containers may name without a command."""
        folder.mkdir(parents=True, exist_ok=True)
        number = cluster.new_node(name)
        settings = Settings(
            name=name,
            address=cluster.net.node(number),
            pod_net=cluster.net.pods(number),
            kubeconfig=cluster.kubeconfig,
            certificates=cluster.certificates,
            folder=folder,
            claims=cluster.claims,
            library=cluster.tools.library,
            search_path=f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            images=images or {},
        )
        settings.write(folder / "settings.json")
        command = [str(cluster.tools.interpreter), "-m", "tests.kubernetes.rig.agent", str(folder / "settings.json")]
        process = RigProcess("agent", command, folder, plain_variables(folder, PYTHONPATH=str(ROOT)))
        try:
            node = cls(name, folder, process)
            node._wait_until_ready(cluster)
            yield node
        finally:
            process.stop()
            with contextlib.suppress(ClientError):  # the cluster may be gone, too
                cluster.kubectl("delete", "node", name, "--ignore-not-found", "--request-timeout=5s")

    def pid(self, namespace: str, pod: str, container: str) -> int:
        """The number that this machine gives the first process of a running container."""
        return int(process_file(self.folder, namespace, pod, container).read_text())

    def signal(self, namespace: str, pod: str, container: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to that process; the container ends with it."""
        os.kill(self.pid(namespace, pod, container), number)

    def _wait_until_ready(self, cluster: Cluster) -> None:
        def is_ready() -> bool:
            self.process.check()
            conditions = cluster.kubectl.get("node", self.name)["status"].get("conditions", [])
            return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

        cluster.kubectl.until(is_ready, READY_SECONDS, f"{self.name} is ready")
