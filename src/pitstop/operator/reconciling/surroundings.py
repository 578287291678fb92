"""The environment and the helpers that all reconcilers share."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pitstop.model.snapshot import SnapshotRecord
from pitstop.operator import kinds
from pitstop.operator.artifacts import Code
from pitstop.operator.errands import Errands
from pitstop.operator.following import Servers
from pitstop.operator.kube.api import Api, Kind, Object
from pitstop.operator.settings import Image
from pitstop.operator.world import Key, World
from pitstop.operator.writing import Writer

SOON_SECONDS = 2.0
"""The time after which a resource is looked at again if no event tells of its change."""
LATER_SECONDS = 10.0
MOST_TIMES_LATER = 30.0


class Retries:
    """The times at which refused actions are tried again: each time later, however often the resource is looked at meanwhile.

    ``clock`` returns seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._refused: dict[str, tuple[int, int, float]] = {}

    def refused(self, uid: str, generation: int, later_each_time: bool = True) -> float:
        """Note a refusal, and return the seconds until the next try."""
        with self._lock:
            of_generation, count, _ = self._refused.get(uid, (generation, 0, 0.0))
            count = count + 1 if of_generation == generation and later_each_time else 1
            seconds = LATER_SECONDS * min(2.0 ** (count - 1), MOST_TIMES_LATER)
            self._refused[uid] = generation, count, self._clock() + seconds
            return seconds

    def seconds_left(self, uid: str, generation: int) -> float:
        """Return the seconds for which this generation of a spec must not be tried; 0: it can be tried now."""
        with self._lock:
            of_generation, _, due = self._refused.get(uid, (generation, 0, 0.0))
            return max(0.0, due - self._clock()) if of_generation == generation else 0.0

    def was_refused(self, uid: str, generation: int) -> bool:
        """True if this generation of a spec was refused, and has not gone well since."""
        with self._lock:
            refusal = self._refused.get(uid)
            return refusal is not None and refusal[0] == generation

    def still_refused(self, uid: str, generation: int) -> float:
        """Return the seconds until the next look at a lasting refusal. An earlier look does not make the next one later."""
        return self.seconds_left(uid, generation) or self.refused(uid, generation)

    def forget(self, uid: str) -> None:
        """Forget the refusals of a resource that went well, or is gone."""
        with self._lock:
            self._refused.pop(uid, None)


class Absences:
    """The times that the servers of jobs have been away. ``clock`` returns seconds that never go back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._since: dict[str, float] = {}

    def seconds(self, uid: str) -> float:
        """Return the seconds since the first call for this resource, which starts the count."""
        with self._lock:
            return self._clock() - self._since.setdefault(uid, self._clock())

    def over(self, uid: str) -> None:
        """End the absence: the resource's server is there, or the resource is gone."""
        with self._lock:
            self._since.pop(uid, None)


@dataclass(frozen=True)
class Slow:
    """The work that may take minutes: what users' addresses and jobs are waited for. All workers share it."""

    codes: Errands[Code]
    exports: Errands[SnapshotRecord]
    large: threading.Lock = field(default_factory=threading.Lock)
    """Held while a large file is in memory: there is room for one."""

    def forget(self, key: Key) -> None:
        """Forget what was done for a resource that is gone."""
        self.codes.forget(key)
        self.exports.forget(key)


@dataclass(frozen=True)
class Surroundings:
    """The objects that a reconciler sees, and the services that it can ask."""

    api: Api
    world: World
    writer: Writer
    servers: Servers
    image: Image
    slow: Slow
    files_from: Path | None = None
    """The only folder that file:// may lead into; None: file:// is refused."""
    retries: Retries = field(default_factory=Retries)
    absences: Absences = field(default_factory=Absences)
    """The absences of jobs' servers. All workers share them, and the retries."""

    def secret(self, namespace: str, name: str) -> dict[str, str] | None:
        """Return a Secret's content; None if there is none. It is read on demand: the operator needs no right to list Secrets."""
        body = self.api.get(kinds.SECRET, namespace, name)
        if body is None:
            return None
        return {key: base64.b64decode(value).decode(errors="replace") for key, value in body.get("data", {}).items()}


def is_leaving(body: Object) -> bool:
    """True if an object is being deleted."""
    return "deletionTimestamp" in body["metadata"]


def uid_of(body: Object | None) -> str | None:
    """Return the uid of an object; None for None."""
    return body["metadata"]["uid"] if body is not None else None


def still_there(around: Surroundings, cluster: Object) -> bool:
    """True if the API server itself has this very cluster, and it is not being deleted. Objects that it owns would go with it."""
    metadata = cluster["metadata"]
    now = around.api.get(kinds.HAZELCAST, metadata["namespace"], metadata["name"])
    return now is not None and now["metadata"]["uid"] == metadata["uid"] and not is_leaving(now)


def hold(around: Surroundings, kind: Kind, body: Object, cluster: Object | None, finalizer: bool) -> None:
    """Make a resource go with its cluster, and hold it by a finalizer if ``finalizer``."""
    owner = owner_reference(cluster) if cluster is not None else None
    if not around.writer.is_held(body, owner, finalizer):
        if cluster is not None and not still_there(around, cluster):
            owner = None
        around.writer.hold(kind, body, owner, finalizer)


def owner_reference(cluster: Object) -> Object:
    """Return the entry for ``ownerReferences`` of objects that go with a Hazelcast resource."""
    return {
        "apiVersion": kinds.HAZELCAST.api_version,
        "kind": kinds.HAZELCAST.name,
        "name": cluster["metadata"]["name"],
        "uid": cluster["metadata"]["uid"],
    }
