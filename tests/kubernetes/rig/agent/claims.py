"""Storage: a folder for each claim of a volume, of the class that claims get when they name none."""

from __future__ import annotations

import asyncio
import logging
import shutil
from pathlib import Path

from tests.kubernetes.rig.agent.api import FAULTS, Api, Object

CLASS, PROVISIONER = "folder", "pitstop.rig/folder"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
VOLUMES = "/api/v1/persistentvolumes"

logger = logging.getLogger(__name__)


class Claims:
    """Makes and removes volumes in ``folder``; any node of a cluster may do it."""

    def __init__(self, api: Api, folder: Path) -> None:
        self._api, self._folder = api, folder

    async def run(self) -> None:
        """Follow claims and volumes until this is cancelled."""
        await self._api.ensure("/apis/storage.k8s.io/v1/storageclasses", storage_class())
        await asyncio.gather(self._follow_claims(), self._follow_volumes())

    async def _follow_claims(self) -> None:
        async for there in self._api.mirror("/api/v1/persistentvolumeclaims"):
            for claim in there.values():
                provisioner = claim["metadata"].get("annotations", {}).get("volume.kubernetes.io/storage-provisioner")
                if provisioner == PROVISIONER and claim.get("status", {}).get("phase") == "Pending":
                    await self._provide(claim)

    async def _provide(self, claim: Object) -> None:
        metadata = claim["metadata"]
        folder = self._folder / f"{metadata['namespace']}-{metadata['name']}-{metadata['uid'][:8]}"
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777)  # as a fresh volume of a cloud's disk with fsGroup would be
        try:
            await self._api.ensure(VOLUMES, volume_for(claim, folder))
        except FAULTS as error:
            logger.info("a volume for the claim %s: %r", metadata["name"], error)

    async def _follow_volumes(self) -> None:
        async for there in self._api.mirror(VOLUMES):
            for volume in there.values():
                if _is_ours(volume) and volume["status"].get("phase") == "Released":
                    await self._remove(volume)

    async def _remove(self, volume: Object) -> None:
        try:
            await self._api.delete(f"{VOLUMES}/{volume['metadata']['name']}")
        except FAULTS as error:
            logger.info("the end of the volume %s: %r", volume["metadata"]["name"], error)
        else:
            shutil.rmtree(volume["spec"]["hostPath"]["path"], ignore_errors=True)


def storage_class() -> Object:
    """The class that claims get when they name none."""
    return {
        "metadata": {"name": CLASS, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": PROVISIONER,
        "volumeBindingMode": "Immediate",
        "reclaimPolicy": "Delete",
    }


def volume_for(claim: Object, folder: Path) -> Object:
    """The volume that satisfies a claim."""
    metadata, spec = claim["metadata"], claim["spec"]
    return {
        "metadata": {"name": f"pvc-{metadata['uid']}", "annotations": {PROVISIONED_BY: PROVISIONER}},
        "spec": {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": spec["storageClassName"],
            "hostPath": {"path": str(folder)},
            "claimRef": {
                "kind": "PersistentVolumeClaim",
                "apiVersion": "v1",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
        },
    }


def _is_ours(volume: Object) -> bool:
    return bool(volume["metadata"].get("annotations", {}).get(PROVISIONED_BY) == PROVISIONER)
