"""What files and variables of a pod are made from: the pod itself, and config maps and secrets of its namespace."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

from tests.kubernetes.rig.agent.api import NOT_FOUND, Api, ApiError, Object
from tests.kubernetes.rig.agent.settings import Settings

ONE_ENTRY = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


class NotYetError(Exception):
    """A container cannot start as things are; it is tried again. ``reason``: Kubernetes' word for why."""

    def __init__(self, message: str, reason: str = "CreateContainerConfigError") -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Facts:
    """A pod on a node. ``address``: the pod's."""

    metadata: Object
    spec: Object
    address: str
    node: Settings

    @property
    def namespace(self) -> str:
        return str(self.metadata["namespace"])

    @property
    def name(self) -> str:
        return str(self.metadata["name"])

    @property
    def uid(self) -> str:
        return str(self.metadata["uid"])

    @property
    def account(self) -> str:
        """The name of its service account."""
        return str(self.spec.get("serviceAccountName", "default"))

    @property
    def host_name(self) -> str:
        return str(self.spec.get("hostname", self.name))

    def field(self, path: str) -> str:
        """The value of a field as pods may ask for it (``fieldRef``)."""
        if one := ONE_ENTRY.fullmatch(path):
            return str(self.metadata.get(one[1], {}).get(one[2], ""))
        if path in ("metadata.labels", "metadata.annotations"):
            entries = self.metadata.get(path.removeprefix("metadata."), {})
            return "\n".join(f'{name}="{value}"' for name, value in sorted(entries.items()))
        known = {
            "metadata.name": self.name,
            "metadata.namespace": self.namespace,
            "metadata.uid": self.uid,
            "spec.nodeName": self.node.name,
            "spec.serviceAccountName": self.account,
            "status.podIP": self.address,
            "status.podIPs": self.address,
            "status.hostIP": self.node.address,
            "status.hostIPs": self.node.address,
        }
        if path not in known:
            raise NotYetError(f"the field {path} is not known here")
        return known[path]


@dataclass(frozen=True)
class Entries:
    """Reads config maps and secrets of a namespace."""

    api: Api
    namespace: str

    async def of_config_map(self, name: str, optional: bool = False) -> dict[str, bytes]:
        """What it holds; nothing if it may be missing, and is."""
        found = await self._find("configmaps", name, optional)
        plain = {key: value.encode() for key, value in (found.get("data") or {}).items()}
        return plain | {key: base64.b64decode(value) for key, value in (found.get("binaryData") or {}).items()}

    async def of_secret(self, name: str, optional: bool = False) -> dict[str, bytes]:
        """What it holds; nothing if it may be missing, and is."""
        found = await self._find("secrets", name, optional)
        return {key: base64.b64decode(value) for key, value in (found.get("data") or {}).items()}

    async def _find(self, kind: str, name: str, optional: bool) -> Object:
        try:
            return await self.api.get(f"/api/v1/namespaces/{self.namespace}/{kind}/{name}")
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            if optional:
                return {}
            raise NotYetError(f'{kind.removesuffix("s")} "{name}" not found') from error
