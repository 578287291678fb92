"""The Kubernetes objects that make up a cluster.

They are the pods of a control plane and of members, a volume that the pods share, and the services that lead to them. This module
only describes the objects; it makes none.

The control plane keeps the store. The control plane or the members run the drivers of jobs. Each member lends its processor to
jobs. The store is a file on the volume, so all pods of a cluster must be on one node, unless a Secret names a store in
PostgreSQL.
"""

from __future__ import annotations

from pitstop.operator import pods
from pitstop.operator.cluster_names import (
    CONTROL_PLANE,
    MEMBER,
    PART_LABEL,
    PORT,
    TOKEN_KEY,
    Named,
    labels,
    metadata,
)
from pitstop.operator.kinds import CLAIM, CONFIG_MAP, DISRUPTION_BUDGET, NETWORK_POLICY, SERVICE, STATEFUL_SET
from pitstop.operator.kube.api import Kind, Object
from pitstop.operator.settings import Image


def children(cluster: Named, image: Image, token_mark: str) -> list[tuple[Kind, Object]]:
    """Return all objects of a cluster except the Secret with the token, whose content is random.

    ``token_mark`` changes with the token: Kubernetes then replaces the pods, which read the token when they start.
    """
    image = image.of(cluster.resource.spec)
    return [
        (CLAIM, _claim(cluster, image)),
        (SERVICE, _service(cluster)),
        (SERVICE, _pods_service(cluster)),
        (NETWORK_POLICY, _network_policy(cluster)),
        (DISRUPTION_BUDGET, _disruption_budget(cluster)),
        *([(CONFIG_MAP, pods.spark_settings(cluster, image))] if cluster.resource.spec.executor_pods else []),
        (STATEFUL_SET, pods.control_plane(cluster, image, token_mark)),
        (STATEFUL_SET, pods.members(cluster, image, token_mark)),
    ]


def token_secret(cluster: Named, token: str) -> Object:
    """Return the Secret with the token that clients of the cluster send."""
    return {"metadata": metadata(cluster, cluster.token_secret), "stringData": {TOKEN_KEY: token}, "type": "Opaque"}


def _claim(cluster: Named, image: Image) -> Object:
    persistence = cluster.resource.spec.persistence
    modes = persistence.pvc.access_modes if persistence is not None and persistence.pvc is not None else None
    spec: Object = {
        "accessModes": modes or ["ReadWriteMany" if cluster.resource.spec.store_secret_name else "ReadWriteOnce"],
        "resources": {"requests": {"storage": image.storage}},
    }
    if image.storage_class is not None:
        spec["storageClassName"] = image.storage_class
    return {"metadata": metadata(cluster, f"{cluster.name}-data"), "spec": spec}


def _service(cluster: Named) -> Object:
    """Return the Service that clients of the cluster call."""
    ports = [{"name": "http", "port": PORT, "targetPort": "http"}]
    outside = cluster.resource.spec.expose_externally
    spec: Object = {"selector": labels(cluster, CONTROL_PLANE), "ports": ports}
    if outside is not None:  # else the type is left to whoever has set it
        spec["type"] = outside.discovery_service_type.value
    return {"metadata": metadata(cluster, cluster.name), "spec": spec}


def _pods_service(cluster: Named) -> Object:
    """Return the headless Service that gives each pod a name."""
    spec = {"clusterIP": "None", "selector": labels(cluster), "publishNotReadyAddresses": True}
    return {"metadata": metadata(cluster, f"{cluster.name}-pods"), "spec": {**spec, "ports": [{"name": "http", "port": PORT}]}}


def _network_policy(cluster: Named) -> Object:
    """Return the policy: pods of a cluster reach each other; all others reach only its server, which asks for a token."""
    own = {"podSelector": {"matchLabels": labels(cluster)}}
    rules = [{"from": [own]}, {"ports": [{"port": PORT, "protocol": "TCP"}]}]
    spec = {"podSelector": own["podSelector"], "policyTypes": ["Ingress"], "ingress": rules}
    return {"metadata": metadata(cluster, cluster.name), "spec": spec}


def _disruption_budget(cluster: Named) -> Object:
    """Return the budget for drained nodes: one pod of a cluster at a time, or all pods of a cluster on a single node.

    On a single node, an evicted pod can start nowhere before the others have left the node with the volume. A budget of one pod
    would keep that node from ever being drained.

    The pods that Spark makes are left out. Their controller is a pod, so Kubernetes cannot tell how many there should be, and
    would let no pod of the cluster be evicted at all.
    """
    ours = [{"key": PART_LABEL, "operator": "In", "values": [CONTROL_PLANE, MEMBER]}]
    most = 1 if cluster.resource.spec.store_secret_name else "100%"
    spec = {"maxUnavailable": most, "selector": {"matchLabels": labels(cluster), "matchExpressions": ours}}
    return {"metadata": metadata(cluster, cluster.name), "spec": spec}
