"""Names of Services, as the file of names that each pod has: there is no DNS server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.kubernetes.rig.agent.api import Object

DOMAIN = "svc.cluster.local"
Backing = Sequence[tuple[Object, Sequence[Object]]]
"""Services, each with the pods behind it."""


class Names:
    """Keeps the files of the pods of one node."""

    def __init__(self) -> None:
        self._files = dict[str, tuple[str, Path, str]]()
        self._backing: Backing = ()

    def add(self, uid: str, namespace: str, file: Path, own: str) -> None:
        """One more pod, with a file that begins with its own lines."""
        self._files[uid] = (namespace, file, own)
        self._write(namespace, file, own)

    def remove(self, uid: str) -> None:
        """Its file is kept no longer."""
        self._files.pop(uid, None)

    def update(self, backing: Backing) -> None:
        """Write all files anew."""
        self._backing = backing
        for namespace, file, own in self._files.values():
            self._write(namespace, file, own)

    def _write(self, namespace: str, file: Path, own: str) -> None:
        text = own + "".join(f"{line}\n" for line in lines_of(namespace, self._backing))
        if file.exists() and file.read_text() == text:
            return
        new = file.with_suffix(".new")
        new.write_text(text)
        new.rename(file)


def lines_of(namespace: str, backing: Backing) -> Iterable[str]:
    """What pods of a namespace know: an address and its names, a line each."""
    for service, pods in backing:
        metadata, address = service["metadata"], service["spec"].get("clusterIP", "None")
        same = metadata["namespace"] == namespace
        names = _names(metadata["name"], metadata["namespace"], same)
        if address != "None":
            yield f"{address} {names}"
            continue
        for pod in pods:
            yield f"{pod['status']['podIP']} {names}"
            if pod["spec"].get("subdomain") == metadata["name"]:
                host = pod["spec"].get("hostname", pod["metadata"]["name"])
                of_pod = _names(f"{host}.{metadata['name']}", metadata["namespace"], same)
                yield f"{pod['status']['podIP']} {of_pod}"


def _names(first: str, namespace: str, same_namespace: bool) -> str:
    """All forms of a name; the shortest is known in its own namespace alone."""
    longer = f"{first}.{namespace}.{DOMAIN} {first}.{namespace}.svc {first}.{namespace}"
    return f"{longer} {first}" if same_namespace else longer
