"""What is told of a pod: its status as Kubernetes keeps it, from what its containers are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.kubernetes.rig.agent.api import Object
from tests.kubernetes.rig.agent.clock import timestamp
from tests.kubernetes.rig.agent.container import Container
from tests.kubernetes.rig.agent.facts import Facts

PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"


@dataclass
class Told:
    """Makes one status after another; each condition keeps the time of its last change."""

    facts: Facts
    began: str = field(default_factory=timestamp)
    _conditions: dict[str, Object] = field(default_factory=dict)

    def status(
        self, phase: str, first: Sequence[Container], main: Sequence[Container], initialized: bool, ending: bool, seen: Object
    ) -> Object:
        """``first``: the containers that initialize it; ``seen``: the pod as the API server has it."""
        containers_ready = phase == RUNNING and not ending and all(container.ready for container in main)
        ready = containers_ready and _gates_hold(seen)
        why = "PodCompleted" if phase == SUCCEEDED else "ContainersNotReady"
        self._tell("Initialized", initialized, "ContainersNotInitialized" if not initialized else None)
        self._tell("ContainersReady", containers_ready, None if containers_ready else why)
        self._tell("Ready", ready, None if ready else "ReadinessGatesNotReady" if containers_ready else why)
        address, node = self.facts.address, self.facts.node.address
        return {
            "phase": phase,
            "hostIP": node,
            "hostIPs": [{"ip": node}],
            "podIP": address,
            "podIPs": [{"ip": address}],
            "startTime": self.began,
            "conditions": list(self._conditions.values()),
            "initContainerStatuses": self._containers(first),
            "containerStatuses": self._containers(main),
        }

    def differs(self, seen: Object) -> bool:
        """Whether somebody else has changed a condition since: the controller of nodes does when it has not heard of one."""
        known = {each["type"]: each["status"] for each in seen.get("status", {}).get("conditions", [])}
        return any(known.get(kind, each["status"]) != each["status"] for kind, each in self._conditions.items())

    def _tell(self, kind: str, holds: bool, reason: str | None) -> None:
        status = "True" if holds else "False"
        before = self._conditions.get(kind)
        changed = before["lastTransitionTime"] if before and before["status"] == status else timestamp()
        self._conditions[kind] = {"type": kind, "status": status, "reason": reason, "lastTransitionTime": changed}

    def _containers(self, containers: Iterable[Container]) -> list[Object]:
        return [self._container(container) for container in containers]

    def _container(self, container: Container) -> Object:
        has_run = "waiting" not in container.state or container.last_state
        return {
            "name": container.name,
            "image": container.spec["image"],
            "imageID": f"process://{container.spec['image']}",
            "containerID": f"process://{self.facts.uid}-{container.name}-{container.restarts}" if has_run else "",
            "ready": container.ready,
            "started": container.started,
            "restartCount": container.restarts,
            "state": container.state,
            "lastState": container.last_state,
        }


def restarts_of(seen: Object) -> dict[str, int]:
    """How often each container of a pod had been started again, when an agent finds it that did not start it.

    Its processes have ended with the agent that did, so each that ran is started once more.
    """
    status = seen.get("status", {})
    told = [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]
    return {each["name"]: each["restartCount"] + 1 for each in told if each.get("containerID")}


def _gates_hold(seen: Object) -> bool:
    """Whether all conditions hold that others set and that the pod waits for."""
    known = {each["type"]: each["status"] for each in seen.get("status", {}).get("conditions", [])}
    return all(known.get(gate["conditionType"]) == "True" for gate in seen["spec"].get("readinessGates", []))
