"""The pods of a cluster that do not start, each with the reason that Kubernetes gives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pitstop.operator.cluster_names import CONTROL_PLANE, EXECUTOR, INSTANCE_LABEL, MEMBER, PART_LABEL
from pitstop.operator.conditions import Remark
from pitstop.operator.kube.api import Object

PODS_WAIT = "PodsWait"
"""The condition that names them."""
MOST_NAMED = 3
_MORE = re.compile(r"\.? (?:no new claims to deallocate|preemption:)")
"""Begins what the scheduler says after the reason: what it could take from other pods."""
_COMING = ("ContainerCreating", "PodInitializing", "")


def cluster_of_pod(pod: Object) -> str | None:
    """Return the name of the cluster that a pod may be of; None if it is not one of a cluster."""
    labels = pod["metadata"].get("labels", {})
    name: str | None = labels.get(INSTANCE_LABEL)
    return name if labels.get(PART_LABEL) in (MEMBER, CONTROL_PLANE, EXECUTOR) else None


def pods_that_wait(pods: Iterable[Object]) -> list[str]:
    """Return a clause for each pod that has no node, or whose container does not start, in the order of their names."""
    clauses = {pod["metadata"]["name"]: _clause(pod) for pod in pods if "deletionTimestamp" not in pod["metadata"]}
    return [f"pod '{name}' {clause}" for name, clause in sorted(clauses.items()) if clause is not None]


def remark_of(clauses: Sequence[str]) -> list[Remark]:
    """Return the remark about pods that do not start; none if all have."""
    if not clauses:
        return []
    more = f"; and {len(clauses) - MOST_NAMED} more" if len(clauses) > MOST_NAMED else ""
    return [Remark(PODS_WAIT, "DoNotStart", "; ".join(clauses[:MOST_NAMED]) + more)]


def _clause(pod: Object) -> str | None:
    status = pod.get("status", {})
    for each in status.get("conditions", []):
        if each["type"] == "PodScheduled" and each["status"] == "False":
            reason = _MORE.split(each.get("message", each.get("reason", "")))[0].rstrip(".")
            return f"waits for a node: {reason}"
    for container in status.get("containerStatuses", []):
        waiting = container.get("state", {}).get("waiting")
        if waiting is not None and waiting.get("reason", "") not in _COMING:
            return f"does not start: {waiting['reason']}: {waiting.get('message', '')}".rstrip(": ")
    return None
