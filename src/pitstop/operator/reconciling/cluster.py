"""The reconciler of a Hazelcast resource: bring about the parts of the cluster, and report its status."""

from __future__ import annotations

import base64
import hashlib
import secrets

from pitstop.operator import kinds
from pitstop.operator.applied import is_as_wanted, marked
from pitstop.operator.children import children, token_secret
from pitstop.operator.cluster_names import PORT, TOKEN_KEY, Named
from pitstop.operator.clusters import SeenCluster, decide_cluster
from pitstop.operator.conditions import ignored_remark
from pitstop.operator.connections import Address, Connection
from pitstop.operator.crds import CLUSTER_NAME
from pitstop.operator.kube.api import ApiFault, Kind, Object, code_of
from pitstop.operator.pods_that_wait import pods_that_wait, remark_of
from pitstop.operator.reconciling.surroundings import SOON_SECONDS, Surroundings, is_leaving
from pitstop.operator.resources.cluster import ClusterPhase, Hazelcast, ignored_fields
from pitstop.operator.world import owner_of, read

REFUSED = (400, 403, 422)


class RefusedError(Exception):
    """A part of a cluster cannot be made as it is asked for. The message says why."""


def reconcile_cluster(around: Surroundings, body: Object) -> float | None:
    """Reconcile a Hazelcast resource. Return the seconds until the next look; None: not before something changes."""
    resource = read(Hazelcast, body)
    if resource is None:
        return None
    metadata = body["metadata"]
    cluster = Named(metadata["name"], metadata["namespace"], metadata["uid"], resource)
    leaving = is_leaving(body)
    missing = None if leaving else _missing_secret(around, cluster)
    refusal, connection = None, None
    if not leaving and missing is None:
        connection, refusal = _bring_about(around, cluster)
    if connection is not None and connection.is_young and refusal is None and _phase(cluster) is ClusterPhase.RUNNING:
        return SOON_SECONDS  # it ran before this operator came, and is about to say how it is
    info = connection.info if connection is not None else None
    view = SeenCluster(
        cluster,
        metadata["generation"],
        missing_secret=missing,
        refusal=refusal,
        answers=info is not None,
        # A server without members counts itself.
        members=len(info.members) if info is not None and not resource.spec.executor_pods else 0,
        leaving=leaving,
        waiting_pods=pods_that_wait(around.world.pods_of(cluster.namespace, cluster.name)),
    )
    status = decide_cluster(view)
    assert status.phase is not None
    remarks = ignored_remark(ignored_fields(resource.spec)) + remark_of(view.waiting_pods)
    around.writer.status(kinds.HAZELCAST, body, status, status.phase, status.message, remarks=remarks)
    if status.phase is ClusterPhase.FAILED:
        return around.retries.still_refused(cluster.uid, metadata["generation"])
    around.retries.forget(cluster.uid)
    return None


def _missing_secret(around: Surroundings, cluster: Named) -> str | None:
    spec = cluster.resource.spec
    names = [name for name in (spec.license_key_secret_name, spec.store_secret_name, spec.job_secret_name) if name is not None]
    if not names:
        return None
    if around.world.find(kinds.STATEFUL_SET, cluster.namespace, cluster.name) is not None:
        return None  # it existed when the cluster was made, and is not needed again
    for name in names:
        if around.api.get(kinds.SECRET, cluster.namespace, name) is None:
            return name
    return None


def _phase(cluster: Named) -> ClusterPhase | None:
    return cluster.resource.status.phase if cluster.resource.status is not None else None


def _bring_about(around: Surroundings, cluster: Named) -> tuple[Connection | None, str | None]:
    """Make all parts as they should be. Return (the connection to the server, once it has an address; the first refusal)."""
    if not cluster.can_be_named:
        return None, f"metadata.name {CLUSTER_NAME}: create it again with another name"
    try:
        token = _token(around, cluster)
    except RefusedError as error:
        return around.servers.of(cluster.uid), str(error)
    parts = children(cluster, around.image, hashlib.sha256(token.encode()).hexdigest()[:16])
    refusal = _all_ours(around, cluster, parts) or _all_applied(around, cluster, parts)
    service = around.world.find(kinds.SERVICE, cluster.namespace, cluster.name)
    host = service["spec"].get("clusterIP") if service is not None and is_of(cluster, service) else None
    if not host:
        return around.servers.of(cluster.uid), refusal
    address = Address(f"http://{f'[{host}]' if ':' in host else host}:{PORT}", token)
    return around.servers.follow(cluster.uid, cluster.namespace, cluster.name, address, around.world), refusal


def _all_ours(around: Surroundings, cluster: Named, parts: list[tuple[Kind, Object]]) -> str | None:
    """Return the reason to make nothing yet: an object of one of these names belongs to something else. None if there is none."""
    try:
        for kind, each in parts:
            name = each["metadata"]["name"]
            there = around.world.find(kind, cluster.namespace, name) or around.api.get(kind, cluster.namespace, name)
            if there is not None:
                _check_owner(around, cluster, kind, there)
    except RefusedError as error:
        return str(error)
    return None


def _all_applied(around: Surroundings, cluster: Named, parts: list[tuple[Kind, Object]]) -> str | None:
    """Apply the parts that are not as wanted, and return the first refusal. A refused part keeps no other from being applied."""
    refusals = []
    for kind, each in parts:
        name, part = each["metadata"]["name"], marked(each)
        there = around.world.find(kind, cluster.namespace, name)
        if kind is kinds.CLAIM and there is not None:
            continue  # most of it cannot be changed, and a user may have enlarged the volume
        if there is not None and is_as_wanted(part, there):
            continue
        try:
            around.api.apply(kind, part)
        except ApiFault as error:
            if code_of(error) not in REFUSED:
                raise
            refusals.append(f"{kind.name} '{name}': {error}")
    return refusals[0] if refusals else None


def _token(around: Surroundings, cluster: Named) -> str:
    """Return the token in the cluster's own Secret, made if needed. RefusedError if the Secret is not of this cluster."""
    name = cluster.token_secret
    secret = around.api.get(kinds.SECRET, cluster.namespace, name)
    if secret is None:
        around.api.create(kinds.SECRET, token_secret(cluster, secrets.token_urlsafe(32)))
        secret = around.api.get(kinds.SECRET, cluster.namespace, name)
    if secret is None:
        raise RefusedError(f"Secret '{name}' could not be made")
    owner = owner_of(secret)
    if owner is None or owner["name"] != cluster.name:
        raise RefusedError(f"Secret '{name}' exists already, and does not belong to this cluster: remove it, or rename this one")
    if owner["uid"] != cluster.uid:
        raise RefusedError(f"Secret '{name}' of an earlier cluster of this name has yet to go")
    if TOKEN_KEY not in secret.get("data", {}):
        raise RefusedError(f"Secret '{name}' has no '{TOKEN_KEY}': remove it, and it is created again")
    return base64.b64decode(secret["data"][TOKEN_KEY]).decode()


def is_of(cluster: Named, there: Object) -> bool:
    """True if an object is a part of this very cluster."""
    owner = owner_of(there)
    return owner is not None and owner["uid"] == cluster.uid


def _check_owner(around: Surroundings, cluster: Named, kind: Kind, there: Object) -> None:
    """Raise RefusedError unless the object is this cluster's. One of an earlier cluster of this name is deleted first."""
    name, owner = there["metadata"]["name"], owner_of(there)
    if owner is None or owner["name"] != cluster.name:
        raise RefusedError(
            f"{kind.name} '{name}' exists already, and does not belong to this cluster: remove it, or rename this one"
        )
    if owner["uid"] != cluster.uid:
        now = around.api.get(kinds.HAZELCAST, cluster.namespace, cluster.name)
        if now is not None and now["metadata"]["uid"] == cluster.uid:  # else the cluster seen here is out of date
            around.api.delete(kind, cluster.namespace, name, there["metadata"]["uid"])
        raise RefusedError(f"{kind.name} '{name}' of an earlier cluster of this name is being removed")
