"""A copy of all objects of a kind, kept up to date by a watch. Decisions read the copy, and never ask the API server."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

from pitstop.operator.kube.api import GONE, Api, ApiFault, Kind, Object, code_of
from pitstop.operator.kube.queue import back_off

log = structlog.get_logger("pitstop.operator")


class Cache:
    """A copy of all objects of a kind.

    ``connect`` makes a client of the API server. ``changed`` is called with each object that was added, changed or deleted, after
    the copy has changed. ``namespace`` is None for all namespaces.
    """

    def __init__(
        self,
        kind: Kind,
        connect: Callable[[], Api],
        changed: Callable[[Object], None],
        namespace: str | None = None,
        labels: dict[str, str] | None = None,
    ) -> None:
        self.kind = kind
        self._connect, self._changed, self._namespace, self._labels = connect, changed, namespace, labels
        self._objects: dict[tuple[str, str], Object] = {}
        self._lock = threading.Lock()
        self._synced = threading.Event()

    @property
    def synced(self) -> bool:
        """True once the copy has held all objects."""
        return self._synced.is_set()

    def get(self, namespace: str, name: str) -> Object | None:
        """Return the object of that name; None if there is none."""
        with self._lock:
            return self._objects.get((namespace, name))

    def all(self, namespace: str | None = None) -> list[Object]:
        """Return all objects, or those of a namespace."""
        with self._lock:
            return [body for (where, _), body in self._objects.items() if namespace in (None, where)]

    def follow(self, stopped: threading.Event) -> None:
        """Keep the copy up to date until ``stopped`` is set. A fault of the API server only delays it."""
        version: str | None = None
        failures = 0
        while not stopped.is_set():
            # A watch that broke off holds its connection for good: each attempt has a client of its own.
            api = None
            try:
                api = self._connect()
                if version is None:
                    version = self._read_all(api)
                    failures = 0
                for what, body in api.watch(self.kind, self._namespace, version, self._labels):
                    failures = 0
                    version = body["metadata"]["resourceVersion"]
                    self._take(what, body)
                    if stopped.is_set():
                        return
            except ApiFault as error:
                failures += 1
                if code_of(error) == GONE:
                    version = None
                if failures > 1:
                    log.warning("the API server is away; trying again", kind=self.kind.name, reason=str(error))
            except Exception:
                # Without this, an outdated copy would be taken for the truth.
                failures, version = failures + 1, None
                log.exception("objects could not be followed; reading all of them again", kind=self.kind.name)
            finally:
                if api is not None:
                    api.close()
            if failures:
                stopped.wait(min(back_off(failures), 5.0))

    def _read_all(self, api: Api) -> str:
        bodies, version = api.list(self.kind, self._namespace, self._labels)
        now = {_place(each): each for each in bodies}
        with self._lock:
            before, self._objects = self._objects, now
        self._synced.set()
        for place, each in now.items():
            old = before.get(place)
            if old is None or old["metadata"]["resourceVersion"] != each["metadata"]["resourceVersion"]:
                self._changed(each)
        for place, each in before.items():
            if place not in now:
                self._changed(each)
        return version

    def _take(self, what: str, body: Object) -> None:
        with self._lock:
            if what == "DELETED":
                self._objects.pop(_place(body), None)
            else:
                self._objects[_place(body)] = body
        self._changed(body)


def _place(body: Object) -> tuple[str, str]:
    return body["metadata"]["namespace"], body["metadata"]["name"]
