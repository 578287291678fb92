"""What a container's start needs, from what its pod says: the command, its variables, and its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.kubernetes.rig.agent.api import Object
from tests.kubernetes.rig.agent.container import Launch
from tests.kubernetes.rig.agent.environment import expand, variables_of
from tests.kubernetes.rig.agent.facts import Entries, Facts, NotYetError
from tests.kubernetes.rig.agent.sandbox import OWN, Mount, Sandbox


async def launch_of(
    facts: Facts,
    container: Object,
    entries: Entries,
    api: tuple[str, int],
    services: Iterable[Object],
    volumes: Mapping[str, Path],
    folder: Path,
    given: Path,
) -> Launch:
    """``folder``: for the container's root; ``given``: what it finds at ``sandbox.OWN``. NotYetError if something is missing."""
    variables = await variables_of(facts, container, entries, api, services)
    command = [expand(word, variables) for word in _command(facts, container)]
    mounts = [_mount(mount, volumes, variables) for mount in container.get("volumeMounts", [])]
    image = facts.node.images.get(container["image"])
    of_pod, own = facts.spec.get("securityContext", {}), container.get("securityContext", {})
    sandbox = Sandbox(
        folder,
        facts.host_name,
        [*mounts, Mount(given, OWN, read_only=True)],
        user=own.get("runAsUser", of_pod.get("runAsUser", image.user if image else None)),
        groups=_groups(of_pod, own),
        read_only=own.get("readOnlyRootFilesystem", False),
        passable=image.passable if image else (),
    )
    if sandbox.user in (None, 0) and own.get("runAsNonRoot", of_pod.get("runAsNonRoot", False)):
        raise NotYetError("container has runAsNonRoot and image will run as root")
    return Launch(sandbox, command, variables, container.get("workingDir") or "/")


def _command(facts: Facts, container: Object) -> list[str]:
    """Its command, or else that of its image; arguments are replaced, too, as soon as either is given."""
    image = facts.node.images.get(container["image"])
    command, arguments = container.get("command"), container.get("args")
    if command:
        return [*command, *(arguments or [])]
    if image is None:
        raise NotYetError(f"there is no image {container['image']} here, and the container has no command", "ErrImagePull")
    return [*image.entrypoint, *(image.arguments if arguments is None else arguments)]


def _groups(of_pod: Object, own: Object) -> list[int]:
    """The group that it runs as, root's if none is said, and that of its volumes; none if it is root's alone."""
    first = own.get("runAsGroup", of_pod.get("runAsGroup"))
    others = [*([of_pod["fsGroup"]] if "fsGroup" in of_pod else []), *of_pod.get("supplementalGroups", [])]
    return [] if first is None and not others else [first or 0, *others]


def _mount(mount: Object, volumes: Mapping[str, Path], variables: Mapping[str, str]) -> Mount:
    part = expand(mount["subPathExpr"], variables) if "subPathExpr" in mount else mount.get("subPath", "")
    source = volumes[mount["name"]] / part
    if not source.exists():
        source.mkdir(parents=True)
    return Mount(source, mount["mountPath"].rstrip("/") or "/", mount.get("readOnly", False))
