"""The settings of the operator. The command ``operator`` has an option for each."""

from __future__ import annotations

import dataclasses
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pitstop.kit.settings import setting

if TYPE_CHECKING:
    from pitstop.operator.resources.cluster import HazelcastSpec


@dataclass(frozen=True)
class Image:
    """The image of the pods, and the resources that they request from their node."""

    name: str = setting("pitstop:0.1.0", "Image of the pods of clusters", option="image")
    pull_policy: str = setting("IfNotPresent", "Always, IfNotPresent or Never", option="image_pull_policy")
    pull_secrets: tuple[str, ...] = setting(
        (), "Secret, in the namespace of each cluster, that pulls the image; repeat for more", option="image_pull_secret"
    )
    member_cores: int = setting(1, "Cores that each member lends to jobs", minimum=1)
    member_memory: str = setting("2Gi", "Memory of each member")
    control_plane_cores: str = setting("1", "Cores that each control plane requests")
    control_plane_memory: str = setting("4Gi", "Memory of each control plane, and of the drivers in it")
    """The memory of a pod that runs drivers. If members run them, members get this, and the control plane ``member_memory``."""
    storage: str = setting("10Gi", "Size of the volume of each cluster")
    storage_class: str | None = setting(None, "Storage class of the volume [default: Kubernetes' default]")
    spares: int = setting(1, "Warm runner processes that each control plane keeps ready", minimum=0)

    def of(self, spec: HazelcastSpec) -> Image:
        """Return the image and the resources of a cluster, with what its spec has in the place of the usual."""
        claim = spec.persistence.pvc if spec.persistence is not None else None
        secrets = tuple(each.name for each in spec.image_pull_secrets) if spec.image_pull_secrets is not None else None
        return dataclasses.replace(
            self,
            name=spec.image or self.name,
            pull_policy=spec.image_pull_policy.value if spec.image_pull_policy is not None else self.pull_policy,
            storage=(claim.request_storage if claim is not None else None) or self.storage,
            storage_class=(claim.storage_class_name if claim is not None else None) or self.storage_class,
            pull_secrets=self.pull_secrets if secrets is None else secrets,
        )


@dataclass(frozen=True)
class OperatorSettings:
    """The settings of the operator itself."""

    image: Image = field(default_factory=Image)
    namespace: str | None = setting(None, "The only namespace to watch [default: all]")
    lease_namespace: str = setting("default", "Namespace of the Lease by which one of several operators leads")
    lease_name: str = setting("pitstop-operator", "Name of that Lease")
    holder: str | None = setting(None, "Name of this operator in the Lease [default: its machine's name]")
    files_from: Path | None = setting(None, "Folder to which file:// in a bucketURI may refer [default: none]")
    health_host: str = setting("127.0.0.1", "Address of /healthz, /readyz and /metrics")
    health_port: int | None = setting(None, "Port of /healthz, /readyz and /metrics [default: none]", minimum=1, maximum=65_535)

    @property
    def identity(self) -> str:
        """The name of this operator in the Lease."""
        return self.holder or socket.gethostname()
