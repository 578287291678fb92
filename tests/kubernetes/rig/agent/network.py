"""What pods reach of one another: follows Services and pods of the whole cluster, and keeps proxies and names as they say."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from tests.kubernetes.rig.agent.api import Api, Object
from tests.kubernetes.rig.agent.names import Names
from tests.kubernetes.rig.agent.proxies import Backend, Port, Proxies

API_SERVICE = ("default", "kubernetes")
SETTLE_SECONDS = 0.02
"""Changes come in swarms."""


class Network:
    """``services``: all of the cluster, now."""

    def __init__(self, api: Api) -> None:
        self.names = Names()
        self._api, self._proxies = api, Proxies()
        self._services, self._pods = dict[str, Object](), dict[str, Object]()
        self._changed = asyncio.Event()

    @property
    def services(self) -> Iterable[Object]:
        return self._services.values()

    async def run(self) -> None:
        """Follow them until this is cancelled."""
        try:
            await asyncio.gather(self._follow_services(), self._follow_pods(), self._keep())
        finally:
            self._proxies.close()

    async def _follow_services(self) -> None:
        async for there in self._api.mirror("/api/v1/services"):
            self._services = there
            self._changed.set()

    async def _follow_pods(self) -> None:
        async for there in self._api.mirror("/api/v1/pods"):
            self._pods = there
            self._changed.set()

    async def _keep(self) -> None:
        while True:
            await self._changed.wait()
            await asyncio.sleep(SETTLE_SECONDS)
            self._changed.clear()
            backing = [(service, self._pods_behind(service)) for service in self._services.values()]
            self.names.update(backing)
            await self._proxies.update(dict(port for service, pods in backing for port in self._ports(service, pods)))

    def _pods_behind(self, service: Object) -> list[Object]:
        """The pods that it leads to: those that are ready, unless it wants all."""
        spec = service["spec"]
        return [
            pod
            for pod in self._pods.values()
            if spec.get("selector")
            and pod["metadata"]["namespace"] == service["metadata"]["namespace"]
            and spec["selector"].items() <= pod["metadata"].get("labels", {}).items()
            and pod.get("status", {}).get("podIP")
            and pod["status"].get("phase") in ("Pending", "Running")
            and (spec.get("publishNotReadyAddresses") or _is_ready(pod))
        ]

    def _ports(self, service: Object, pods: Iterable[Object]) -> Iterable[tuple[Port, list[Backend]]]:
        spec, metadata = service["spec"], service["metadata"]
        if not spec.get("clusterIP", "None").startswith("127."):
            return
        for port in spec.get("ports", []):
            if port.get("protocol", "TCP") != "TCP":
                continue
            if (metadata["namespace"], metadata["name"]) == API_SERVICE:
                backends = [(self._api.host, self._api.port)]
            else:
                target = port.get("targetPort", port["port"])
                found = ((pod["status"]["podIP"], _pod_port(pod, target)) for pod in pods)
                backends = [(address, number) for address, number in found if number is not None]
            yield (spec["clusterIP"], port["port"]), backends


def _is_ready(pod: Object) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))


def _pod_port(pod: Object, target: int | str) -> int | None:
    if isinstance(target, int):
        return target
    ports = (port for container in pod["spec"]["containers"] for port in container.get("ports", []))
    return next((int(port["containerPort"]) for port in ports if port.get("name") == target), None)
