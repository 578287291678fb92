"""The status of a cluster, decided from what is seen. This module only decides; it changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pitstop.operator.cluster_names import MEMBER, Named, labels
from pitstop.operator.resources.cluster import ClusterMembers, ClusterPhase, HazelcastStatus


@dataclass(frozen=True)
class SeenCluster:
    """A Hazelcast resource, and every fact that decides its status."""

    cluster: Named
    generation: int
    missing_secret: str | None = None
    """The name of a Secret that the resource names and that does not exist."""
    refusal: str | None = None
    """The reason why one of the cluster's parts cannot be made."""
    answers: bool = False
    """True if the cluster's server is up."""
    members: int = 0
    """The number of members that have joined and live."""
    leaving: bool = False
    """True if the resource is being deleted."""
    waiting_pods: Sequence[str] = ()
    """A clause about each of its pods that does not start."""


def decide_cluster(view: SeenCluster) -> HazelcastStatus:
    """Return the status that the resource should have."""
    spec = view.cluster.resource.spec
    size = 0 if spec.executor_pods else spec.cluster_size
    before = view.cluster.resource.status
    phase, message = _phase(view, size)
    return HazelcastStatus(
        observed_generation=view.generation,
        conditions=list(before.conditions) if before is not None else [],
        phase=phase,
        hazelcast_cluster_status=ClusterMembers(ready_members=f"{view.members}/{size}"),
        members=view.members,
        selector=",".join(f"{key}={value}" for key, value in labels(view.cluster, MEMBER).items()),
        message=message,
    )


def _phase(view: SeenCluster, size: int) -> tuple[ClusterPhase, str | None]:
    if view.leaving:
        return ClusterPhase.TERMINATING, None
    if view.missing_secret is not None:
        return ClusterPhase.FAILED, f"Secret '{view.missing_secret}' not found: create it, and the cluster starts"
    if view.refusal is not None:
        return ClusterPhase.FAILED, view.refusal
    why = f": {view.waiting_pods[0]}" if view.waiting_pods else ""
    if not view.answers:
        return ClusterPhase.PENDING, f"the control plane does not answer yet{why}"
    if view.members != size:
        return ClusterPhase.PENDING, f"{view.members} of {size} members have joined{why}"
    return ClusterPhase.RUNNING, None
