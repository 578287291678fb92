"""All that the operator sees of Kubernetes: its own resources, what clusters are made of, and who looks when one changes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog
from pydantic import ValidationError

from pitstop.operator import kinds
from pitstop.operator.cluster_names import MANAGED
from pitstop.operator.jobs import job_id
from pitstop.operator.kube.api import Api, Kind, Object
from pitstop.operator.kube.cache import Cache
from pitstop.operator.resources import GROUP, Part

log = structlog.get_logger("pitstop.operator")

R = TypeVar("R", bound=Part)


@dataclass(frozen=True, order=True)
class Key:
    """A resource of ours that is to be looked at."""

    kind: str
    namespace: str
    name: str


class World:
    """``namespace``: the only one to look at; None for all."""

    def __init__(self, connect: Callable[[], Api], look_at: Callable[[Key], None], namespace: str | None = None) -> None:
        self._look_at = look_at
        self._job_keys: dict[str, Key] = {}
        self._own = {kind: Cache(kind, connect, self._hears(kind), namespace) for kind in kinds.OWN}
        self._children = {kind: Cache(kind, connect, self._child_changed, namespace, MANAGED) for kind in kinds.CHILDREN}

    @property
    def synced(self) -> bool:
        """Whether all of it was seen once: before, nothing can be decided."""
        return all(cache.synced for cache in (*self._own.values(), *self._children.values()))

    def follow(self, stopped: threading.Event) -> None:
        """Keep it true, in threads that end once that is set."""
        for cache in (*self._own.values(), *self._children.values()):
            threading.Thread(target=cache.follow, args=(stopped,), name=f"following-{cache.kind.plural}", daemon=True).start()

    def find(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """A resource of ours, or an object of which a cluster is made; None if there is none."""
        return (self._own.get(kind) or self._children[kind]).get(namespace, name)

    def all(self, kind: Kind, namespace: str | None = None) -> list[Object]:
        """All resources of a kind of ours."""
        return self._own[kind].all(namespace)

    def everything(self) -> list[Key]:
        """Everything that can be looked at."""
        return [key_of(kind, each) for kind, cache in self._own.items() for each in cache.all()]

    def cluster_changed(self, namespace: str, name: str) -> None:
        """A cluster is, or is told to be, otherwise: it and all that names it is to be looked at."""
        self._look_at(Key(kinds.HAZELCAST.name, namespace, name))
        self.look_at_all_of(namespace, name)

    def look_at_all_of(self, namespace: str, cluster: str) -> None:
        """All jobs, maps and snapshots of a cluster are to be looked at."""
        named = set()
        for kind in (kinds.JET_JOB, kinds.MAP):
            for each in self.all(kind, namespace):
                if each["spec"].get("hazelcastResourceName") == cluster:
                    self._look_at(key_of(kind, each))
                    if kind is kinds.JET_JOB:
                        named.add(each["metadata"]["name"])
        for each in self.all(kinds.JET_JOB_SNAPSHOT, namespace):
            if each["spec"].get("jetJobResourceName") in named or each["metadata"].get("deletionTimestamp"):
                self._look_at(key_of(kinds.JET_JOB_SNAPSHOT, each))

    def job_changed(self, identity: str) -> None:
        """The job of that id has changed on its cluster; those of nobody's resource are left alone."""
        key = self._job_keys.get(identity)
        if key is not None:
            self._look_at(key)

    def _hears(self, kind: Kind) -> Callable[[Object], None]:
        def changed(found: Object) -> None:
            namespace, name = found["metadata"]["namespace"], found["metadata"]["name"]
            self._look_at(key_of(kind, found))
            if kind is kinds.HAZELCAST:
                self.look_at_all_of(namespace, name)
            elif kind is kinds.JET_JOB:
                self._job_keys[job_id(found["metadata"]["uid"])] = key_of(kind, found)
                self._look_at_those(kinds.JET_JOB_SNAPSHOT, namespace, "jetJobResourceName", name)
                self._look_at_namesakes(found)
            elif kind is kinds.JET_JOB_SNAPSHOT:
                self._look_at_those(kinds.JET_JOB, namespace, "initialSnapshotResourceName", name)

        return changed

    def _look_at_those(self, kind: Kind, namespace: str, field: str, name: str) -> None:
        for each in self.all(kind, namespace):
            if each["spec"].get(field) == name:
                self._look_at(key_of(kind, each))

    def _look_at_namesakes(self, job: Object) -> None:
        """Those whose job has the same name may have waited for the end of this one."""
        for each in self.all(kinds.JET_JOB, job["metadata"]["namespace"]):
            if each["metadata"]["uid"] != job["metadata"]["uid"] and job_name_of(each) == job_name_of(job):
                self._look_at(key_of(kinds.JET_JOB, each))

    def _child_changed(self, found: Object) -> None:
        owner = owner_of(found)
        if owner is not None:
            self._look_at(Key(kinds.HAZELCAST.name, found["metadata"]["namespace"], owner["name"]))


def job_name_of(job: Object) -> str:
    """The name of the job that a JetJob stands for."""
    name: str = job["spec"].get("name") or job["metadata"]["name"]
    return name


def snapshot_name_of(snapshot: Object) -> str:
    """The name of the snapshot that a JetJobSnapshot stands for."""
    name: str = snapshot["spec"].get("name") or snapshot["metadata"]["name"]
    return name


def key_of(kind: Kind, found: Object) -> Key:
    """The key of a resource of ours."""
    return Key(kind.name, found["metadata"]["namespace"], found["metadata"]["name"])


def owner_of(found: Object) -> Object | None:
    """The Hazelcast resource, as ``ownerReferences`` names it, that an object goes with; None if it goes with none."""
    for each in found["metadata"].get("ownerReferences", []):
        if each["kind"] == kinds.HAZELCAST.name and each["apiVersion"].partition("/")[0] == GROUP:
            owner: Object = each
            return owner
    return None


def read(model: type[R], found: Object | None) -> R | None:
    """The resource as our own type. None for one that a later release wrote, or that was there before its definition said what it
    may be: it is left alone."""
    if found is None:
        return None
    try:
        return model.model_validate(found)
    except ValidationError as error:
        what = f"{found['kind']} {found['metadata']['namespace']}/{found['metadata']['name']}"
        log.warning("a resource cannot be read, and is left alone", resource=what, reason=str(error.errors()[0]["msg"]))
        return None
