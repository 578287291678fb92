"""The objects of which a cluster is made (resources.md, Hazelcast): pods of a control plane and of members, a volume which they
share, and what leads to them. Nothing is done here.

The control plane keeps the store; it or the members run the drivers of jobs; each member lends its processor to jobs. The store
is a file on the volume, so that all pods of a cluster are to be on one node, unless a Secret names a store in PostgreSQL.
"""

from __future__ import annotations

from pitstop.operator import pods
from pitstop.operator.cluster_names import (
    CONTROL_PLANE,
    MEMBER,
    PART_LABEL,
    PORT,
    TOKEN_KEY,
    Image,
    Named,
    labels,
    metadata,
)
from pitstop.operator.kinds import CLAIM, CONFIG_MAP, DISRUPTION_BUDGET, NETWORK_POLICY, SERVICE, STATEFUL_SET
from pitstop.operator.kube.api import Kind, Object


def children(cluster: Named, image: Image, token_mark: str) -> list[tuple[Kind, Object]]:
    """All of them but the Secret with the token, whose content nobody knows beforehand.

    ``token_mark`` is another one for another token: pods are made anew, which read it when they start.
    """
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
    """The Secret with the token that clients of the cluster send."""
    return {"metadata": metadata(cluster, cluster.token_secret), "stringData": {TOKEN_KEY: token}, "type": "Opaque"}


def _claim(cluster: Named, image: Image) -> Object:
    spec: Object = {
        "accessModes": ["ReadWriteMany" if cluster.resource.spec.store_secret_name else "ReadWriteOnce"],
        "resources": {"requests": {"storage": image.storage}},
    }
    if image.storage_class is not None:
        spec["storageClassName"] = image.storage_class
    return {"metadata": metadata(cluster, f"{cluster.name}-data"), "spec": spec}


def _service(cluster: Named) -> Object:
    """Where clients of the cluster ask."""
    ports = [{"name": "http", "port": PORT, "targetPort": "http"}]
    spec = {"selector": labels(cluster, CONTROL_PLANE), "ports": ports}
    return {"metadata": metadata(cluster, cluster.name), "spec": spec}


def _pods_service(cluster: Named) -> Object:
    """Gives each pod a name."""
    spec = {"clusterIP": "None", "selector": labels(cluster), "publishNotReadyAddresses": True}
    return {"metadata": metadata(cluster, f"{cluster.name}-pods"), "spec": {**spec, "ports": [{"name": "http", "port": PORT}]}}


def _network_policy(cluster: Named) -> Object:
    """The pods of a cluster talk with each other; all others reach its server alone, which asks for a token."""
    own = {"podSelector": {"matchLabels": labels(cluster)}}
    rules = [{"from": [own]}, {"ports": [{"port": PORT, "protocol": "TCP"}]}]
    spec = {"podSelector": own["podSelector"], "policyTypes": ["Ingress"], "ingress": rules}
    return {"metadata": metadata(cluster, cluster.name), "spec": spec}


def _disruption_budget(cluster: Named) -> Object:
    """Who drains nodes takes one pod of a cluster at a time, or all of one that is on a single node.

    Of the latter, a pod that was taken can come up nowhere before the others have left the node with the volume: one at a time
    would let that node never be drained.

    Not those that Spark makes: their controller is a pod, and of such Kubernetes cannot say how many there are to be; it would
    let no pod of the cluster be taken at all.
    """
    ours = [{"key": PART_LABEL, "operator": "In", "values": [CONTROL_PLANE, MEMBER]}]
    most = 1 if cluster.resource.spec.store_secret_name else "100%"
    spec = {"maxUnavailable": most, "selector": {"matchLabels": labels(cluster), "matchExpressions": ours}}
    return {"metadata": metadata(cluster, cluster.name), "spec": spec}
