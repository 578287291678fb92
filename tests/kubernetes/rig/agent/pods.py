"""The pods of a node: begun, followed and ended as the API server has them."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Iterable
from pathlib import Path

from tests.kubernetes.rig.agent.api import FAULTS, Object
from tests.kubernetes.rig.agent.network import Network
from tests.kubernetes.rig.agent.pod import Host, Pod
from tests.kubernetes.rig.agent.sandbox import HOSTS, LIBRARY
from tests.kubernetes.rig.agent.status import FAILED, SUCCEEDED

FIRST_ADDRESS, ADDRESSES = 2, 253

logger = logging.getLogger(__name__)


class Pods:
    """``there``: all that have not ended."""

    def __init__(self, host: Host, network: Network) -> None:
        self._host, self._network = host, network
        self._pods = dict[str, Pod]()
        self._given_addresses = 0
        self._deletions = set[asyncio.Task[None]]()

    @property
    def there(self) -> Iterable[Pod]:
        return list(self._pods.values())

    async def run(self) -> None:
        """Follow the API server until this is cancelled."""
        for left in ("pods", "processes"):  # by an agent before us
            shutil.rmtree(self._host.settings.folder / left, ignore_errors=True)
        chosen = f"spec.nodeName={self._host.settings.name}"
        async for there in self._host.api.mirror("/api/v1/pods", fieldSelector=chosen):
            for uid, seen in there.items():
                self._see(uid, seen)
            for uid in self._pods.keys() - there.keys():
                self._pods[uid].end(0)  # deleted by force

    def kill(self) -> None:
        """End all processes at once."""
        for pod in self._pods.values():
            for container in pod.containers:
                container.kill()

    def _see(self, uid: str, seen: Object) -> None:
        if uid in self._pods:
            self._pods[uid].see(seen)
        elif "deletionTimestamp" in seen["metadata"]:
            self._delete(seen)
        elif seen.get("status", {}).get("phase") not in (SUCCEEDED, FAILED):
            self._begin(uid, seen)

    def _begin(self, uid: str, seen: Object) -> None:
        metadata, settings = seen["metadata"], self._host.settings
        folder = settings.folder / "pods" / uid
        given = folder / "given"
        given.mkdir(parents=True)
        address = self._address(seen.get("status", {}).get("podIP"))
        shutil.copy(settings.library, given / Path(LIBRARY).name)
        (given / Path(LIBRARY).name).chmod(0o755)
        own = f"127.0.0.1 localhost\n{address} {seen['spec'].get('hostname', metadata['name'])}\n"
        self._network.names.add(uid, metadata["namespace"], given / Path(HOSTS).name, own)
        self._pods[uid] = Pod(self._host, seen, address, folder, given, lambda: self._forget(uid))

    def _forget(self, uid: str) -> None:
        self._pods.pop(uid, None)
        self._network.names.remove(uid)

    def _delete(self, seen: Object) -> None:
        """One that has no processes here, so nothing has to be waited for."""

        async def delete() -> None:
            metadata = seen["metadata"]
            path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
            try:
                await self._host.api.delete(path, {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}})
            except FAULTS as error:
                logger.info("deleting the pod %s: %r", metadata["name"], error)

        task = asyncio.create_task(delete())
        self._deletions.add(task)
        task.add_done_callback(self._deletions.discard)

    def _address(self, before: str | None) -> str:
        """One that no other pod has: its own from ``before``, else the one longest not given."""
        used = {pod.facts.address for pod in self._pods.values()}
        if before and before not in used and before.startswith(f"{self._host.settings.pod_net}."):
            return before
        while True:
            number = FIRST_ADDRESS + self._given_addresses % ADDRESSES
            self._given_addresses += 1
            address = f"{self._host.settings.pod_net}.{number}"
            if address not in used:
                return address
