"""The status of a cluster, decided from what is seen. This module only decides; it changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.operator.cluster_names import MEMBER, Named, labels
from pitstop.operator.resources import ClusterMembers, ClusterPhase, HazelcastStatus


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


def decide_cluster(seen: SeenCluster) -> HazelcastStatus:
    """Return the status that the resource should have."""
    spec = seen.cluster.resource.spec
    wanted = 0 if spec.executor_pods else spec.cluster_size
    before = seen.cluster.resource.status
    phase, message = _phase(seen, wanted)
    return HazelcastStatus(
        observed_generation=seen.generation,
        conditions=list(before.conditions) if before is not None else [],
        phase=phase,
        hazelcast_cluster_status=ClusterMembers(ready_members=f"{seen.members}/{wanted}"),
        members=seen.members,
        selector=",".join(f"{key}={value}" for key, value in labels(seen.cluster, MEMBER).items()),
        message=message,
    )


def _phase(seen: SeenCluster, wanted: int) -> tuple[ClusterPhase, str | None]:
    if seen.leaving:
        return ClusterPhase.TERMINATING, None
    if seen.missing_secret is not None:
        return ClusterPhase.FAILED, f"Secret '{seen.missing_secret}' not found: create it, and the cluster starts"
    if seen.refusal is not None:
        return ClusterPhase.FAILED, seen.refusal
    if not seen.answers:
        return ClusterPhase.PENDING, "the control plane does not answer yet"
    if seen.members != wanted:
        return ClusterPhase.PENDING, f"{seen.members} of {wanted} members have joined"
    return ClusterPhase.RUNNING, None
