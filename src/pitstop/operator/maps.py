"""The next step for a Map, decided from what is seen. This module only decides; it changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.operator.resources.cluster import ClusterPhase, Hazelcast
from pitstop.operator.resources.map import EvictionPolicy, Map, MapSpec, MapState, MapStatus
from pitstop.operator.resources.parts import USUAL_SIZE_POLICY
from pitstop.service.map_results import MapFacts


@dataclass(frozen=True)
class SeenMap:
    """A Map, and every fact that decides the next step."""

    name: str
    """metadata.name"""
    generation: int
    resource: Map
    cluster: Hazelcast | None
    """The Hazelcast resource that the Map names; None if there is none."""
    facts: MapFacts | None = None
    """The map as its control plane reports it; None if there is no map of that name."""
    leaving: bool = False
    """True if the resource is being deleted."""

    @property
    def map_name(self) -> str:
        """The name of the map on its cluster."""
        return self.resource.spec.name or self.name


@dataclass(frozen=True)
class MapSettings:
    """The settings that the map should have."""

    journal_capacity: int
    """The number of events that the map keeps; 0: none."""
    ttl_seconds: float
    """The time in seconds after which a written entry expires; 0: never."""


@dataclass(frozen=True)
class MapDecision:
    """The settings to apply, if any, and the status to write."""

    settings: MapSettings | None
    status: MapStatus
    """The status once the settings are applied."""


def decide_map(view: SeenMap) -> MapDecision:
    """Decide the next step for a Map."""
    spec, cluster = view.resource.spec, view.cluster
    if view.leaving:
        return MapDecision(None, _status(view, MapState.TERMINATING, None))
    missing = _missing(spec)
    if missing is not None:
        return MapDecision(None, _status(view, MapState.FAILED, missing))
    if cluster is None:
        return MapDecision(None, _status(view, MapState.PENDING, f"Hazelcast '{spec.hazelcast_resource_name}' not found"))
    if cluster.status is None or cluster.status.phase is not ClusterPhase.RUNNING:
        return MapDecision(None, _status(view, MapState.PENDING, f"Hazelcast '{spec.hazelcast_resource_name}' is not running"))
    settings = _settings_in(spec)
    actual = None if view.facts is None else MapSettings(view.facts.journal_capacity, view.facts.ttl_seconds or 0)
    return MapDecision(settings if actual != settings else None, _status(view, MapState.SUCCESS, None))


def persisting_map(view: SeenMap) -> MapStatus:
    """Return the status while the map is being configured."""
    return _status(view, MapState.PERSISTING, None)


def refused_map(view: SeenMap, reason: str) -> MapStatus:
    """Return the status after the cluster has refused the settings."""
    return _status(view, MapState.FAILED, reason)


def _settings_in(spec: MapSpec) -> MapSettings:
    return MapSettings(spec.event_journal.capacity if spec.event_journal is not None else 0, spec.time_to_live_seconds)


def _missing(spec: MapSpec) -> str | None:
    """Return the reason to refuse a spec that asks for a feature that our maps lack; None if it asks for none."""
    if spec.max_idle_seconds:
        return "spec.maxIdleSeconds: entries expire after their last write (timeToLiveSeconds), not after their last use"
    if spec.event_journal is not None and spec.event_journal.time_to_live_seconds:
        return "spec.eventJournal.timeToLiveSeconds: a journal keeps its last events (capacity), however old these are"
    eviction = spec.eviction
    if eviction is not None and (eviction.eviction_policy is not EvictionPolicy.NONE or eviction.max_size):
        return "spec.eviction: maps are kept on disk, and evict nothing"
    if eviction is not None and eviction.max_size_policy != USUAL_SIZE_POLICY:
        return "spec.eviction.maxSizePolicy: it names the unit of maxSize, and maps have no maximum size"
    return None


def _status(view: SeenMap, state: MapState, message: str | None) -> MapStatus:
    before = view.resource.status
    conditions = list(before.conditions) if before is not None else []
    return MapStatus(observed_generation=view.generation, conditions=conditions, state=state, message=message)
