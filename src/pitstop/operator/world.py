"""The operator's view of Kubernetes: its own resources and the parts of clusters, and the keys to look at when one changes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog
from pydantic import ValidationError

from pitstop.operator import kinds
from pitstop.operator.cluster_names import MANAGED, PODS
from pitstop.operator.jobs import job_id
from pitstop.operator.kube.api import Api, Kind, Object
from pitstop.operator.kube.cache import Cache
from pitstop.operator.pods_that_wait import cluster_of_pod
from pitstop.operator.resources.parts import GROUP, Part

log = structlog.get_logger("pitstop.operator")

R = TypeVar("R", bound=Part)


@dataclass(frozen=True, order=True)
class Key:
    """The key of a resource to look at."""

    kind: str
    namespace: str
    name: str


class World:
    """The operator's view of Kubernetes. ``namespace`` is the only namespace to look at; None for all."""

    def __init__(self, connect: Callable[[], Api], look_at: Callable[[Key], None], namespace: str | None = None) -> None:
        self._look_at = look_at
        self._job_keys: dict[str, Key] = {}
        self._own = {kind: Cache(kind, connect, self._hears(kind), namespace) for kind in kinds.OWN}
        self._pods = Cache(kinds.POD, connect, self._pod_changed, namespace, PODS)
        self._children = {kind: Cache(kind, connect, self._child_changed, namespace, MANAGED) for kind in kinds.CHILDREN}

    @property
    def synced(self) -> bool:
        """True once all objects were seen. Before that, nothing can be decided."""
        return all(cache.synced for cache in self._caches())

    def follow(self, stopped: threading.Event) -> None:
        """Keep the view up to date, in threads that end once ``stopped`` is set."""
        for cache in self._caches():
            threading.Thread(target=cache.follow, args=(stopped,), name=f"following-{cache.kind.plural}", daemon=True).start()

    def find(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Return one of our resources, or a part of a cluster; None if there is none."""
        return (self._own.get(kind) or self._children[kind]).get(namespace, name)

    def all(self, kind: Kind, namespace: str | None = None) -> list[Object]:
        """Return all resources of one of our kinds."""
        return self._own[kind].all(namespace)

    def pods_of(self, namespace: str, cluster: str) -> list[Object]:
        """Return the pods of a cluster."""
        return [pod for pod in self._pods.all(namespace) if cluster_of_pod(pod) == cluster]

    def cluster_of(self, key: Key) -> str | None:
        """Return the name of the cluster whose server a resource's reconciler asks; None if there is none."""
        if key.kind == kinds.JET_JOB_SNAPSHOT.name:
            snapshot = self.find(kinds.JET_JOB_SNAPSHOT, key.namespace, key.name)
            key = Key(kinds.JET_JOB.name, key.namespace, snapshot["spec"]["jetJobResourceName"]) if snapshot is not None else key
        kind = next((each for each in (kinds.JET_JOB, kinds.MAP) if each.name == key.kind), None)
        body = self.find(kind, key.namespace, key.name) if kind is not None else None
        name: str | None = body["spec"].get("hazelcastResourceName") if body is not None else None
        return name

    def everything(self) -> list[Key]:
        """Return the keys of all our resources."""
        return [key_of(kind, each) for kind, cache in self._own.items() for each in cache.all()]

    def cluster_changed(self, namespace: str, name: str) -> None:
        """Queue a cluster that has changed, or is to change, and every resource that names it."""
        self._look_at(Key(kinds.HAZELCAST.name, namespace, name))
        self.look_at_all_of(namespace, name)

    def look_at_all_of(self, namespace: str, cluster: str) -> None:
        """Queue all jobs, maps and snapshots of a cluster."""
        job_names = set()
        for kind in (kinds.JET_JOB, kinds.MAP):
            for each in self.all(kind, namespace):
                if each["spec"].get("hazelcastResourceName") == cluster:
                    self._look_at(key_of(kind, each))
                    if kind is kinds.JET_JOB:
                        job_names.add(each["metadata"]["name"])
        for each in self.all(kinds.JET_JOB_SNAPSHOT, namespace):
            if each["spec"].get("jetJobResourceName") in job_names or each["metadata"].get("deletionTimestamp"):
                self._look_at(key_of(kinds.JET_JOB_SNAPSHOT, each))

    def job_changed(self, identity: str) -> None:
        """Queue the resource of a job that has changed on its cluster. A job without a resource is ignored."""
        key = self._job_keys.get(identity)
        if key is not None:
            self._look_at(key)

    def _hears(self, kind: Kind) -> Callable[[Object], None]:
        def changed(body: Object) -> None:
            namespace, name = body["metadata"]["namespace"], body["metadata"]["name"]
            self._look_at(key_of(kind, body))
            if kind is kinds.HAZELCAST:
                self.look_at_all_of(namespace, name)
            elif kind is kinds.JET_JOB:
                self._job_keys[job_id(body["metadata"]["uid"])] = key_of(kind, body)
                self._look_at_those(kinds.JET_JOB_SNAPSHOT, namespace, "jetJobResourceName", name)
                self._look_at_namesakes(body)
            elif kind is kinds.JET_JOB_SNAPSHOT:
                self._look_at_those(kinds.JET_JOB, namespace, "initialSnapshotResourceName", name)

        return changed

    def _look_at_those(self, kind: Kind, namespace: str, field: str, name: str) -> None:
        for each in self.all(kind, namespace):
            if each["spec"].get(field) == name:
                self._look_at(key_of(kind, each))

    def _look_at_namesakes(self, job: Object) -> None:
        """Queue the JetJobs whose job has the same name: they may have waited for the end of this one."""
        for each in self.all(kinds.JET_JOB, job["metadata"]["namespace"]):
            if each["metadata"]["uid"] != job["metadata"]["uid"] and job_name_of(each) == job_name_of(job):
                self._look_at(key_of(kinds.JET_JOB, each))

    def _caches(self) -> list[Cache]:
        return [*self._own.values(), *self._children.values(), self._pods]

    def _pod_changed(self, body: Object) -> None:
        cluster = cluster_of_pod(body)
        if cluster is not None:
            self._look_at(Key(kinds.HAZELCAST.name, body["metadata"]["namespace"], cluster))

    def _child_changed(self, body: Object) -> None:
        owner = owner_of(body)
        if owner is not None:
            self._look_at(Key(kinds.HAZELCAST.name, body["metadata"]["namespace"], owner["name"]))


def job_name_of(job: Object) -> str:
    """Return the name of the job that a JetJob stands for."""
    name: str = job["spec"].get("name") or job["metadata"]["name"]
    return name


def snapshot_name_of(snapshot: Object) -> str:
    """Return the name of the snapshot that a JetJobSnapshot stands for."""
    name: str = snapshot["spec"].get("name") or snapshot["metadata"]["name"]
    return name


def key_of(kind: Kind, body: Object) -> Key:
    """Return the key of one of our resources."""
    return Key(kind.name, body["metadata"]["namespace"], body["metadata"]["name"])


def owner_of(body: Object) -> Object | None:
    """Return the entry of ``ownerReferences`` for the Hazelcast resource that owns an object; None if none owns it."""
    for each in body["metadata"].get("ownerReferences", []):
        if each["kind"] == kinds.HAZELCAST.name and each["apiVersion"].partition("/")[0] == GROUP:
            owner: Object = each
            return owner
    return None


def read(model: type[R], body: Object | None) -> R | None:
    """Return a resource as our own type.

    None for a resource that a later release wrote, or that is older than the rules of its definition. It is left alone.
    """
    if body is None:
        return None
    try:
        return model.model_validate(body)
    except ValidationError as error:
        what = f"{body['kind']} {body['metadata']['namespace']}/{body['metadata']['name']}"
        log.warning("a resource cannot be read, and is left alone", resource=what, reason=str(error.errors()[0]["msg"]))
        return None
