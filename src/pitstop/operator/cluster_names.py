"""The names and labels of a cluster's objects, and the identity of the cluster."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pitstop.operator.kube.api import FIELD_MANAGER, Object
from pitstop.operator.resources.cluster import Hazelcast
from pitstop.operator.resources.parts import CLUSTER_PATTERN, GROUP, LONGEST_CLUSTER_NAME, USUAL_BASE_DIR, VERSION
from pitstop.operator.resources.pods import OWN_LABELS

PORT = 8701
DATA = USUAL_BASE_DIR
"""The path at which the volume is mounted, unless spec.persistence.baseDir says otherwise."""
CONTAINER = "hazelcast"
NAME_LABEL, INSTANCE_LABEL, PART_LABEL, MANAGED_LABEL = OWN_LABELS
MANAGED = {MANAGED_LABEL: FIELD_MANAGER}
"""The label that all objects of a cluster carry. The operator watches objects with it."""
PODS = {NAME_LABEL: "hazelcast"}
"""The label that the pods of all clusters carry. The operator watches pods with it."""
MEMBER, CONTROL_PLANE, EXECUTOR = "member", "control-plane", "executor"
STORE_KEY, PASSWORD_KEY, TOKEN_KEY = "url", "password", "token"


@dataclass(frozen=True)
class Named:
    """A Hazelcast resource with its identity."""

    name: str
    namespace: str
    uid: str
    resource: Hazelcast

    @property
    def can_be_named(self) -> bool:
        """True if all of its objects can have their names. Kubernetes refuses other clusters, but not while it has old rules."""
        return len(self.name) <= LONGEST_CLUSTER_NAME and re.fullmatch(CLUSTER_PATTERN, self.name) is not None

    @property
    def control_plane(self) -> str:
        """The name of the StatefulSet of its control plane."""
        return f"{self.name}-{CONTROL_PLANE}"

    @property
    def token_secret(self) -> str:
        """The name of the Secret with the token that its server asks for."""
        return f"{self.name}-token"

    @property
    def host_names(self) -> tuple[str, ...]:
        """The names of its Service, within its namespace and from other namespaces."""
        return tuple(".".join((self.name, self.namespace, "svc", "cluster", "local")[:count]) for count in (1, 2, 3, 5))

    @property
    def owner(self) -> Object:
        """The entry for ``ownerReferences`` of the objects that are deleted with the resource."""
        return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Hazelcast", "name": self.name, "uid": self.uid, "controller": True}

    @property
    def data(self) -> str:
        """The path at which its pods mount the volume."""
        persistence = self.resource.spec.persistence
        return persistence.base_dir if persistence is not None else DATA


def labels(cluster: Named, part: str | None = None) -> dict[str, str]:
    """Return the labels that select the pods of a cluster, or of a part of it."""
    common = {**PODS, INSTANCE_LABEL: cluster.name}
    return common if part is None else common | {PART_LABEL: part}


def metadata(cluster: Named, name: str, part: str | None = None) -> Object:
    """Return the metadata of an object that is deleted with the cluster."""
    spec = cluster.resource.spec
    all_labels = {**spec.own_labels, **labels(cluster, part), **MANAGED}
    annotations = {"annotations": spec.own_annotations} if spec.own_annotations else {}
    place = {"name": name, "namespace": cluster.namespace}
    return {**place, "labels": all_labels, **annotations, "ownerReferences": [cluster.owner]}
