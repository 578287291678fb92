"""The reconciler of a Map: configure its map, and report the map's status."""

from __future__ import annotations

from pitstop.errors import UsageError
from pitstop.operator import kinds
from pitstop.operator.kube.api import Object
from pitstop.operator.maps import SeenMap, decide_map, persisting_map, refused_map
from pitstop.operator.reconciling.surroundings import SOON_SECONDS, Surroundings, hold, is_leaving
from pitstop.operator.resources import ClusterPhase, Hazelcast, Map, MapStatus, ignored_fields
from pitstop.operator.world import read


def reconcile_map(around: Surroundings, found: Object) -> float | None:
    """Reconcile a Map. Return the seconds until the next look; None: not before something changes.

    The entries of a map stay when its resource is deleted.
    """
    resource = read(Map, found)
    if resource is None:
        return None
    metadata = found["metadata"]
    if is_leaving(found):  # another finalizer holds it
        seen = SeenMap(metadata["name"], metadata["generation"], resource, None, leaving=True)
        _say(around, found, decide_map(seen).status)
        return None
    there = around.world.find(kinds.HAZELCAST, metadata["namespace"], resource.spec.hazelcast_resource_name)
    cluster = read(Hazelcast, there)
    if there is not None:
        hold(around, kinds.MAP, found, there, finalizer=False)
    connection = around.servers.of(there["metadata"]["uid"]) if there is not None else None
    running = cluster is not None and cluster.status is not None and cluster.status.phase is ClusterPhase.RUNNING
    if running and (connection is None or connection.info is None):
        return SOON_SECONDS
    seen = SeenMap(metadata["name"], metadata["generation"], resource, cluster)
    if running and connection is not None:
        facts = {each.name: each for each in connection.service.maps()}.get(seen.map_name)
        seen = SeenMap(metadata["name"], metadata["generation"], resource, cluster, facts)
    decision = decide_map(seen)
    status = decision.status
    if decision.settings is not None and connection is not None:
        _say(around, found, persisting_map(seen))
        try:
            connection.service.map_configure(seen.map_name, decision.settings.journal_capacity, decision.settings.ttl_seconds)
        except UsageError as error:
            status = refused_map(seen, error.message)
    _say(around, found, status)
    return None


def _say(around: Surroundings, found: Object, status: MapStatus) -> None:
    assert status.state is not None
    resource = read(Map, found)
    ignored = ignored_fields(resource.spec) if resource is not None else ()
    around.writer.status(kinds.MAP, found, status, status.state, status.message, ignored=ignored)
