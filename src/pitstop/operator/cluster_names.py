"""What the objects of a cluster are called, and what tells the cluster from others."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.operator.kube.api import FIELD_MANAGER, Object
from pitstop.operator.resources import GROUP, VERSION, Hazelcast

PORT = 8701
DATA = "/data"
"""Where the volume is mounted unless spec.persistence.baseDir says otherwise."""
CONTAINER = "hazelcast"
NAME_LABEL, INSTANCE_LABEL, PART_LABEL = (f"app.kubernetes.io/{part}" for part in ("name", "instance", "component"))
MANAGED = {"app.kubernetes.io/managed-by": FIELD_MANAGER}
"""What all of them carry, and what is watched."""
MEMBER, CONTROL_PLANE, EXECUTOR = "member", "control-plane", "executor"
STORE_KEY, PASSWORD_KEY, TOKEN_KEY = "url", "password", "token"


@dataclass(frozen=True)
class Image:
    """What the pods run, and what they ask of their node."""

    name: str = "pitstop:0.1.0"
    pull_policy: str = "IfNotPresent"
    member_cores: int = 1
    """Cores that each member lends to jobs, and asks for."""
    member_memory: str = "2Gi"
    control_plane_cores: str = "1"
    control_plane_memory: str = "4Gi"
    """Drivers of jobs take theirs from it; where members run them, members have it, and the control plane has theirs."""
    storage: str = "10Gi"
    """Size of the volume."""
    storage_class: str | None = None
    """None: the usual one."""
    spares: int = 1
    """Warm processes that a control plane keeps ready for jobs."""


@dataclass(frozen=True)
class Named:
    """A Hazelcast resource, with what tells it from others."""

    name: str
    namespace: str
    uid: str
    resource: Hazelcast

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
        """What its Service is called, within its namespace and from others."""
        return tuple(".".join((self.name, self.namespace, "svc", "cluster", "local")[:count]) for count in (1, 2, 3, 5))

    @property
    def owner(self) -> Object:
        """As ``ownerReferences`` of what goes with it."""
        return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Hazelcast", "name": self.name, "uid": self.uid, "controller": True}

    @property
    def data(self) -> str:
        """Where its pods mount the volume."""
        kept = self.resource.spec.persistence
        return kept.base_dir if kept is not None else DATA


def labels(cluster: Named, part: str | None = None) -> dict[str, str]:
    """By which the pods of a cluster, or of a part of it, are found."""
    found = {NAME_LABEL: "hazelcast", INSTANCE_LABEL: cluster.name}
    return found if part is None else found | {PART_LABEL: part}


def metadata(cluster: Named, name: str, part: str | None = None) -> Object:
    """Of an object that goes with the cluster."""
    own = {**labels(cluster, part), **MANAGED}
    return {"name": name, "namespace": cluster.namespace, "labels": own, "ownerReferences": [cluster.owner]}
