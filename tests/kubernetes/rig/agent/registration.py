"""The node as the cluster knows it: its object, its conditions, and the lease that says that it lives."""

from __future__ import annotations

import asyncio
import logging
import os

from tests.kubernetes.rig.agent.api import FAULTS, NOT_FOUND, Api, ApiError, Object
from tests.kubernetes.rig.agent.clock import precise_timestamp, timestamp
from tests.kubernetes.rig.agent.settings import Settings

BEAT_SECONDS, RETRY_SECONDS = 10.0, 1.0
LEASE_SECONDS = 40
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
ROOM = {"cpu": "64", "memory": "64Gi", "pods": "250", "ephemeral-storage": "100Gi"}
"""What the scheduler may give away; nothing is limited."""
CONDITIONS = {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}

logger = logging.getLogger(__name__)


async def stay_registered(api: Api, settings: Settings, port: int, version: str) -> None:
    """Tell of the node until this is cancelled; ``port``: where it is asked for logs."""
    name, began = settings.name, timestamp()
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    while True:
        try:
            await api.ensure("/api/v1/nodes", {"metadata": {"name": name, "labels": labels}, "spec": {}})
            await api.patch(f"/api/v1/nodes/{name}/status", {"status": _status(settings, port, version, began)})
            await _renew_lease(api, name)
            await asyncio.sleep(BEAT_SECONDS)
        except FAULTS as error:
            logger.info("registering: %r", error)
            await asyncio.sleep(RETRY_SECONDS)


async def _renew_lease(api: Api, name: str) -> None:
    spec = {"holderIdentity": name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": precise_timestamp()}
    try:
        await api.patch(f"{LEASES}/{name}", {"spec": spec})
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        await api.create(LEASES, {"metadata": {"name": name}, "spec": spec})


def _status(settings: Settings, port: int, version: str, began: str) -> Object:
    conditions = [
        {"type": kind, "status": status, "reason": "Told", "lastHeartbeatTime": timestamp(), "lastTransitionTime": began}
        for kind, status in CONDITIONS.items()
    ]
    return {
        "capacity": ROOM,
        "allocatable": ROOM,
        "conditions": conditions,
        "addresses": [{"type": "InternalIP", "address": settings.address}, {"type": "Hostname", "address": settings.name}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "nodeInfo": {
            "kubeletVersion": version,
            "containerRuntimeVersion": "process://1",
            "osImage": "processes of one machine",
            "operatingSystem": "linux",
            "architecture": "amd64",
            "kernelVersion": os.uname().release,
            "kubeProxyVersion": "",
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
        },
    }
