"""What all reconcilers share."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pitstop.operator import kinds
from pitstop.operator.cluster_names import Image
from pitstop.operator.following import Servers
from pitstop.operator.kube.api import Api, Kind, Object
from pitstop.operator.world import World
from pitstop.operator.writing import Writer

SOON_SECONDS = 2.0
"""After how long something is looked at again that nobody tells of when it changes."""
LATER_SECONDS = 10.0
MOST_TIMES_LATER = 30.0


class Retries:
    """When what was refused is to be tried again: each time later, whatever else is a reason to look.

    ``clock``: seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._refused: dict[str, tuple[int, int, float]] = {}

    def refused(self, uid: str, generation: int) -> float:
        """In how many seconds to try again."""
        with self._lock:
            known, count, _ = self._refused.get(uid, (generation, 0, 0.0))
            count = count + 1 if known == generation else 1
            seconds = LATER_SECONDS * min(2.0 ** (count - 1), MOST_TIMES_LATER)
            self._refused[uid] = generation, count, self._clock() + seconds
            return seconds

    def seconds_left(self, uid: str, generation: int) -> float:
        """How long nothing is to be tried for this generation of a spec; 0: not at all."""
        with self._lock:
            known, _, due = self._refused.get(uid, (generation, 0, 0.0))
            return max(0.0, due - self._clock()) if known == generation else 0.0

    def still_refused(self, uid: str, generation: int) -> float:
        """In how many seconds to look again at what is still so; a look before that is none of the times that make it later."""
        return self.seconds_left(uid, generation) or self.refused(uid, generation)

    def forget(self, uid: str) -> None:
        """It went well, or is gone."""
        with self._lock:
            self._refused.pop(uid, None)


class Absences:
    """How long the servers of jobs have been away. ``clock``: seconds that never go back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._since: dict[str, float] = {}

    def seconds(self, uid: str) -> float:
        """Since the first time that somebody asked for this resource, which counts from then on."""
        with self._lock:
            return self._clock() - self._since.setdefault(uid, self._clock())

    def over(self, uid: str) -> None:
        """Its server is there, or the resource is gone."""
        with self._lock:
            self._since.pop(uid, None)


@dataclass(frozen=True)
class Surroundings:
    """What is seen, and what can be asked."""

    api: Api
    world: World
    writer: Writer
    servers: Servers
    image: Image
    files_from: Path | None = None
    """The only folder that file:// may lead into; None: none may."""
    retries: Retries = field(default_factory=Retries)
    absences: Absences = field(default_factory=Absences)
    """These two are of all workers."""

    def secret(self, namespace: str, name: str) -> dict[str, str] | None:
        """What a Secret holds; None if there is none. Read whenever it is needed: nobody is to list them."""
        found = self.api.get(kinds.SECRET, namespace, name)
        if found is None:
            return None
        return {key: base64.b64decode(value).decode(errors="replace") for key, value in found.get("data", {}).items()}


def is_leaving(found: Object) -> bool:
    """Whether it is being deleted."""
    return "deletionTimestamp" in found["metadata"]


def uid_of(found: Object | None) -> str | None:
    """Of an object; None of none."""
    return found["metadata"]["uid"] if found is not None else None


def still_there(around: Surroundings, cluster: Object) -> bool:
    """Whether this very cluster is there and stays, by the API server itself: what hangs on it would go with it."""
    metadata = cluster["metadata"]
    now = around.api.get(kinds.HAZELCAST, metadata["namespace"], metadata["name"])
    return now is not None and now["metadata"]["uid"] == metadata["uid"] and not is_leaving(now)


def hold(around: Surroundings, kind: Kind, found: Object, cluster: Object | None, finalizer: bool) -> None:
    """Let a resource go with its cluster, and be held when it is deleted."""
    owner = owner_reference(cluster) if cluster is not None else None
    if not around.writer.is_held(found, owner, finalizer):
        if cluster is not None and not still_there(around, cluster):
            owner = None
        around.writer.hold(kind, found, owner, finalizer)


def owner_reference(cluster: Object) -> Object:
    """As ``ownerReferences`` of what goes with a Hazelcast resource."""
    return {
        "apiVersion": kinds.HAZELCAST.api_version,
        "kind": kinds.HAZELCAST.name,
        "name": cluster["metadata"]["name"],
        "uid": cluster["metadata"]["uid"],
    }
