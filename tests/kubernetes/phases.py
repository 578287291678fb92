"""The phases of resources as somebody beside the operator sees them, who follows them by a watch of their own."""

from __future__ import annotations

import threading
import time

from lightkube import KubeConfig

from pitstop.kit.waiting import wait_until
from pitstop.operator.kube.api import Api, Kind, Object
from pitstop.operator.kube.cache import Cache
from tests.kubernetes.rig.cluster import Cluster

LOOK_SECONDS = 0.02


class Phases:
    """Of all resources of a kind, from when this is made; ``namespace``: None for all."""

    def __init__(self, cluster: Cluster, kind: Kind, namespace: str | None = None) -> None:
        self._seen: list[tuple[str, str, float]] = []
        self.bodies: list[Object] = []
        """Every form that a resource has had, in order."""
        config = KubeConfig.from_file(cluster.kubeconfig)
        cache = Cache(kind, lambda: Api(config), self._changed, namespace)
        self._stopped = threading.Event()
        threading.Thread(target=cache.follow, args=(self._stopped,), daemon=True).start()
        wait_until(lambda: cache.synced, 60, LOOK_SECONDS)

    def stop(self) -> None:
        """See no more."""
        self._stopped.set()

    def _changed(self, found: Object) -> None:
        status = found.get("status", {})
        self.bodies.append(found)
        self._seen.append((found["metadata"]["name"], status.get("phase") or status.get("state") or "", time.time()))

    def statuses(self, name: str) -> list[Object]:
        """Return every status that the resource of that name has had, in order, the empty one left out."""
        each = [body["status"] for body in self.bodies if body["metadata"]["name"] == name and body.get("status")]
        return [status for number, status in enumerate(each) if number == 0 or status != each[number - 1]]

    def first(self, name: str, phase: str, after: float = 0.0) -> float | None:
        """When a resource was first seen in that phase, in seconds since the epoch; ``after`` if it was in it then.

        None if it was not yet.
        """
        seen = [(which, at) for resource, which, at in self._seen if resource == name]
        before = [which for which, at in seen if at <= after]
        if before and before[-1] == phase:
            return after
        return next((at for which, at in seen if which == phase and at > after), None)

    def wait(self, name: str, phase: str, seconds: float) -> float:
        """The same, once it is."""
        assert wait_until(lambda: self.first(name, phase) is not None, seconds, LOOK_SECONDS), f"{name} is not {phase}"
        return self.first(name, phase) or 0.0
