"""The volumes of a pod, as files and folders of the machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tests.kubernetes.rig.agent.api import Object
from tests.kubernetes.rig.agent.facts import Entries, Facts, NotYetError

TOKEN_SECONDS = 24 * 3600
DEFAULT_MODE = 0o644


@dataclass(frozen=True)
class Volumes:
    """Makes them in ``folder``, which is gone with the pod. What is made from objects is not made anew when these change."""

    facts: Facts
    entries: Entries
    folder: Path

    async def prepare(self) -> dict[str, Path]:
        """All of them by name; NotYetError while something is missing that they need."""
        return {volume["name"]: await self._prepare(volume) for volume in self.facts.spec.get("volumes", [])}

    async def _prepare(self, volume: Object) -> Path:
        if "hostPath" in volume:
            return _machine_path(volume["hostPath"])
        if "persistentVolumeClaim" in volume:
            return self._of_group(await self._claimed(volume["persistentVolumeClaim"]["claimName"]))
        made = self.folder / volume["name"]
        made.mkdir(parents=True, exist_ok=True)
        if "projected" in volume:
            mode = volume["projected"].get("defaultMode", DEFAULT_MODE)
            for source in volume["projected"].get("sources", []):
                await self._fill(made, source, mode)
        elif "emptyDir" in volume:
            made.chmod(0o777)
        else:
            kind = next((kind for kind in ("configMap", "secret", "downwardAPI") if kind in volume), None)
            if kind is None:
                raise NotYetError(f"the volume {volume['name']} is of a kind that is not known here", "FailedMount")
            await self._fill(made, volume, volume[kind].get("defaultMode", DEFAULT_MODE))
        return self._of_group(made)

    async def _fill(self, folder: Path, source: Object, mode: int) -> None:
        if asked := source.get("configMap"):
            _write_entries(folder, asked, await self.entries.of_config_map(asked["name"], asked.get("optional", False)), mode)
        if asked := source.get("secret"):
            name = asked.get("secretName") or asked["name"]  # a volume of its own says it otherwise than a part of one
            _write_entries(folder, asked, await self.entries.of_secret(name, asked.get("optional", False)), mode)
        for item in (source.get("downwardAPI") or {}).get("items", []):
            _write(folder / item["path"], self.facts.field(item["fieldRef"]["fieldPath"]).encode(), item.get("mode", mode))
        if asked := source.get("serviceAccountToken"):
            _write(folder / asked["path"], (await self._token(asked)).encode(), mode)

    async def _token(self, asked: Object) -> str:
        facts = self.facts
        bound = {"kind": "Pod", "apiVersion": "v1", "name": facts.name, "uid": facts.uid}
        spec: Object = {"expirationSeconds": TOKEN_SECONDS, "boundObjectRef": bound}
        if asked.get("audience"):
            spec["audiences"] = [asked["audience"]]
        path = f"/api/v1/namespaces/{facts.namespace}/serviceaccounts/{facts.account}/token"
        made = await self.entries.api.create(path, {"spec": spec})
        return str(made["status"]["token"])

    async def _claimed(self, name: str) -> Path:
        api = self.entries.api
        claim = await api.get(f"/api/v1/namespaces/{self.facts.namespace}/persistentvolumeclaims/{name}")
        if claim["status"].get("phase") != "Bound":
            raise NotYetError(f"the claim {name} is not bound", "ContainerCreating")
        volume = await api.get(f"/api/v1/persistentvolumes/{claim['spec']['volumeName']}")
        path = Path((volume["spec"].get("hostPath") or volume["spec"]["local"])["path"])
        path.mkdir(parents=True, exist_ok=True)
        return path

    def _of_group(self, folder: Path) -> Path:
        """Lets the pod's group write there, as ``fsGroup`` says."""
        asked = self.facts.spec.get("securityContext", {})
        group = asked.get("fsGroup")
        root = folder.stat()
        fits = root.st_gid == group and root.st_mode & 0o2770 == 0o2770
        if group is not None and not (fits and asked.get("fsGroupChangePolicy") == "OnRootMismatch"):
            for path in (folder, *folder.rglob("*")):
                os.chown(path, -1, group, follow_symlinks=False)
                if path.is_dir():
                    path.chmod(path.stat().st_mode | 0o2770)
                elif not path.is_symlink():
                    path.chmod(path.stat().st_mode | 0o060)
        return folder


def _machine_path(asked: Object) -> Path:
    path = Path(asked["path"])
    if asked.get("type", "").endswith("OrCreate"):
        path.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        raise NotYetError(f"{path} does not exist on the node", "FailedMount")
    return path


def _write_entries(folder: Path, asked: Object, found: dict[str, bytes], mode: int) -> None:
    for item in asked.get("items") or [{"key": key, "path": key} for key in found]:
        if item["key"] in found:
            _write(folder / item["path"], found[item["key"]], item.get("mode", mode))
        elif not asked.get("optional", False):
            raise NotYetError(f"references non-existent config key: {item['key']}", "FailedMount")


def _write(file: Path, content: bytes, mode: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    file.chmod(mode)
