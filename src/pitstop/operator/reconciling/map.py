"""The reconciler of a Map: configure its map, and report the map's status."""

from __future__ import annotations

from pitstop.errors import UsageError
from pitstop.operator import kinds
from pitstop.operator.conditions import ignored_remark
from pitstop.operator.kube.api import Object
from pitstop.operator.maps import SeenMap, decide_map, persisting_map, refused_map
from pitstop.operator.reconciling.surroundings import SOON_SECONDS, Surroundings, hold, is_leaving
from pitstop.operator.resources.cluster import ClusterPhase, Hazelcast, ignored_fields
from pitstop.operator.resources.map import Map, MapStatus
from pitstop.operator.world import read


def reconcile_map(around: Surroundings, body: Object) -> float | None:
    """Reconcile a Map. Return the seconds until the next look; None: not before something changes.

    The entries of a map stay when its resource is deleted.
    """
    resource = read(Map, body)
    if resource is None:
        return None
    metadata = body["metadata"]
    if is_leaving(body):  # another finalizer holds it
        view = SeenMap(metadata["name"], metadata["generation"], resource, None, leaving=True)
        _say(around, body, decide_map(view).status)
        return None
    there = around.world.find(kinds.HAZELCAST, metadata["namespace"], resource.spec.hazelcast_resource_name)
    cluster = read(Hazelcast, there)
    if there is not None:
        hold(around, kinds.MAP, body, there, finalizer=False)
    connection = around.servers.of(there["metadata"]["uid"]) if there is not None else None
    running = cluster is not None and cluster.status is not None and cluster.status.phase is ClusterPhase.RUNNING
    if running and (connection is None or connection.info is None):
        return SOON_SECONDS
    view = SeenMap(metadata["name"], metadata["generation"], resource, cluster)
    if running and connection is not None:
        facts = {each.name: each for each in connection.maps()}.get(view.map_name)
        view = SeenMap(metadata["name"], metadata["generation"], resource, cluster, facts)
    decision = decide_map(view)
    status = decision.status
    if decision.settings is not None and connection is not None:
        _say(around, body, persisting_map(view))
        try:
            connection.service.map_configure(view.map_name, decision.settings.journal_capacity, decision.settings.ttl_seconds)
        except UsageError as error:
            status = refused_map(view, error.message)
    _say(around, body, status)
    return None


def _say(around: Surroundings, body: Object, status: MapStatus) -> None:
    assert status.state is not None
    resource = read(Map, body)
    remarks = ignored_remark(ignored_fields(resource.spec) if resource is not None else ())
    around.writer.status(kinds.MAP, body, status, status.state, status.message, remarks=remarks)
