"""How a cluster is, decided from what is seen (resources.md, Hazelcast). Nothing is done here."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.operator.cluster_names import Named
from pitstop.operator.resources import ClusterMembers, ClusterPhase, HazelcastStatus


@dataclass(frozen=True)
class SeenCluster:
    """A Hazelcast resource, and all that decides about it."""

    cluster: Named
    generation: int
    missing_secret: str | None = None
    """The name of a Secret that it names and that is not there."""
    refusal: str | None = None
    """Why the API server does not take one of its parts."""
    answers: bool = False
    """Its server is up."""
    members: int = 0
    """How many members have joined and live."""
    leaving: bool = False
    """It is being deleted."""


def decide_cluster(seen: SeenCluster) -> HazelcastStatus:
    """What its status is to say."""
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
