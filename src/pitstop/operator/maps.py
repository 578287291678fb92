"""What a Map asks for, decided from what is seen (resources.md, Map). Nothing is done here."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.operator.resources import (
    USUAL_SIZE_POLICY,
    ClusterPhase,
    EvictionPolicy,
    Hazelcast,
    Map,
    MapSpec,
    MapState,
    MapStatus,
)
from pitstop.service.results import MapFacts


@dataclass(frozen=True)
class SeenMap:
    """A Map, and all that decides about it."""

    name: str
    """metadata.name"""
    generation: int
    resource: Map
    cluster: Hazelcast | None
    """The Hazelcast resource that it names; None if there is none."""
    facts: MapFacts | None = None
    """The map as its control plane shows it; None if it has none of that name."""
    leaving: bool = False
    """It is being deleted."""

    @property
    def map_name(self) -> str:
        """The name of the map on its cluster."""
        return self.resource.spec.name or self.name


@dataclass(frozen=True)
class MapSettings:
    """How the map is to be configured."""

    journal_capacity: int
    """Events that it keeps; 0: none."""
    ttl_seconds: float
    """Entries expire so long after they are written; 0: never."""


@dataclass(frozen=True)
class MapDecision:
    """What to configure, if anything, and what the status is to say."""

    settings: MapSettings | None
    status: MapStatus
    """Once that is done."""


def decide_map(seen: SeenMap) -> MapDecision:
    """What a Map asks for now."""
    spec, cluster = seen.resource.spec, seen.cluster
    if seen.leaving:
        return MapDecision(None, _status(seen, MapState.TERMINATING, None))
    missing = _missing(spec)
    if missing is not None:
        return MapDecision(None, _status(seen, MapState.FAILED, missing))
    if cluster is None:
        return MapDecision(None, _status(seen, MapState.PENDING, f"Hazelcast '{spec.hazelcast_resource_name}' not found"))
    if cluster.status is None or cluster.status.phase is not ClusterPhase.RUNNING:
        return MapDecision(None, _status(seen, MapState.PENDING, f"Hazelcast '{spec.hazelcast_resource_name}' is not running"))
    wanted = _wanted(spec)
    actual = None if seen.facts is None else MapSettings(seen.facts.journal_capacity, seen.facts.ttl_seconds or 0)
    return MapDecision(wanted if actual != wanted else None, _status(seen, MapState.SUCCESS, None))


def persisting_map(seen: SeenMap) -> MapStatus:
    """What the status is to say while the cluster is being told how the map is to be."""
    return _status(seen, MapState.PERSISTING, None)


def refused_map(seen: SeenMap, reason: str) -> MapStatus:
    """What the status is to say once the cluster has refused."""
    return _status(seen, MapState.FAILED, reason)


def _wanted(spec: MapSpec) -> MapSettings:
    return MapSettings(spec.event_journal.capacity if spec.event_journal is not None else 0, spec.time_to_live_seconds)


def _missing(spec: MapSpec) -> str | None:
    """What our maps cannot do: it is refused rather than left out."""
    if spec.max_idle_seconds:
        return "spec.maxIdleSeconds: entries expire after their last write (timeToLiveSeconds), not after their last use"
    if spec.event_journal is not None and spec.event_journal.time_to_live_seconds:
        return "spec.eventJournal.timeToLiveSeconds: a journal keeps its last events (capacity), however old these are"
    eviction = spec.eviction
    if eviction is not None and (eviction.eviction_policy is not EvictionPolicy.NONE or eviction.max_size):
        return "spec.eviction: maps are kept on disk, and evict nothing"
    if eviction is not None and eviction.max_size_policy != USUAL_SIZE_POLICY:
        return "spec.eviction.maxSizePolicy: it says what maxSize counts, and maps have no greatest size"
    return None


def _status(seen: SeenMap, state: MapState, message: str | None) -> MapStatus:
    known = seen.resource.status
    conditions = list(known.conditions) if known is not None else []
    return MapStatus(observed_generation=seen.generation, conditions=conditions, state=state, message=message)
