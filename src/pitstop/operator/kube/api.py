"""The API server of Kubernetes, as the operator asks it. Only this file knows the client library (lightkube)."""

from __future__ import annotations

import functools
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import httpx2
from lightkube import ApiError, Client, KubeConfig
from lightkube.config.client_adapter import verify_cluster
from lightkube.core.exceptions import ConfigError
from lightkube.core.generic_client import ALL_NS
from lightkube.generic_resource import GenericNamespacedResource, create_api_info, create_namespaced_resource
from lightkube.types import CascadeType, PatchType

from pitstop.errors import UsageError

Object = dict[str, Any]
"""An object as the API server sends it: ``apiVersion``, ``kind``, ``metadata``, and what its kind has."""

FIELD_MANAGER = "pitstop-operator"
"""Whose fields ours are, as server-side apply tells them apart."""
ApiFault = httpx2.HTTPError
"""The API server cannot be reached, or refuses. What is refused today may be taken tomorrow: all are worth another try."""
NOT_FOUND, CONFLICT, GONE = 404, 409, 410
_PAGE = 500
_SECONDS = 15.0
_WATCH_SECONDS = 1800
"""The API server is asked to end a watch after so long, so that none lives on a connection that is not what it was."""
_KEEP_ALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
]
"""A watch waits for ever: only this tells it that nobody is there any more, within half a minute."""


@dataclass(frozen=True)
class Kind:
    """A kind of objects that live in namespaces, such as ``Kind("apps", "v1", "StatefulSet", "statefulsets")``."""

    group: str
    version: str
    name: str
    plural: str
    built_in: bool = True
    """It comes with Kubernetes, and is not ours."""

    @property
    def api_version(self) -> str:
        """As ``apiVersion`` of its objects says."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> type[GenericNamespacedResource]:
        """What the library calls it."""
        return _resource(self)


@functools.cache
def _made(kind: Kind) -> type[GenericNamespacedResource]:
    if not kind.built_in:
        return create_namespaced_resource(kind.group, kind.version, kind.name, kind.plural)
    # The library's own classes for these hold fewer fields than a later Kubernetes sends: ours are what they are, dictionaries.
    about = create_api_info(kind.group, kind.version, kind.name, kind.plural)
    return type(kind.name, (GenericNamespacedResource,), {"_api_info": about})


def _resource(kind: Kind) -> type[GenericNamespacedResource]:
    with _making:  # the library's registry takes no two threads at once
        return _made(kind)


_making = threading.Lock()


class Api:
    """Asks the API server. Each method is one request; ApiFault if it fails."""

    def __init__(self, config: KubeConfig, seconds: float = _SECONDS) -> None:
        """``seconds``: how long the API server may say nothing, watches left aside."""
        chosen = config.get()
        if chosen is None or chosen.user is None:
            raise UsageError("The kubeconfig has no current context with a user: choose one with 'kubectl config use-context'.")
        trusted = verify_cluster(chosen.cluster, chosen.user, chosen.abs_file)
        transport = httpx2.HTTPTransport(verify=trusted, socket_options=_KEEP_ALIVE)
        self._client = Client(chosen, timeout=httpx2.Timeout(seconds), field_manager=FIELD_MANAGER, transport=transport)

    def close(self) -> None:
        """Give back the connections."""
        self._client.close()

    def list(self, kind: Kind, namespace: str | None, labels: dict[str, str] | None = None) -> tuple[list[Object], str]:
        """(all objects of a kind, the version of the store that this is); ``namespace``: None for all of them."""
        found = self._client.list(kind.resource, namespace=namespace or ALL_NS, chunk_size=_PAGE, labels=cast(Any, labels))
        objects: list[Object] = [dict(each) for each in found]
        return objects, found.resourceVersion

    def watch(
        self, kind: Kind, namespace: str | None, version: str, labels: dict[str, str] | None = None
    ) -> Iterator[tuple[str, Object]]:
        """("ADDED", "MODIFIED" or "DELETED", the object) for each change after that version. Ends with ApiFault alone."""
        changes = self._client.watch(
            kind.resource,
            namespace=namespace or ALL_NS,
            labels=cast(Any, labels),
            resource_version=version,
            server_timeout=_WATCH_SECONDS,
        )
        for what, found in changes:
            yield what, dict(found)

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """The object as it is now; None if there is none."""
        try:
            return dict(self._client.get(kind.resource, name, namespace=namespace))
        except ApiError as error:
            if code_of(error) == NOT_FOUND:
                return None
            raise

    def create(self, kind: Kind, made: Object) -> Object | None:
        """The new object; None if there is one of its name."""
        try:
            return dict(self._client.create(cast(Any, kind.resource)(made), namespace=made["metadata"]["namespace"]))
        except ApiError as error:
            if code_of(error) == CONFLICT:
                return None
            raise

    def replace(self, kind: Kind, changed: Object) -> Object | None:
        """The object as it is now; None if somebody else has changed it since it was read."""
        try:
            client: Any = self._client
            return dict(client.replace(cast(Any, kind.resource)(changed), namespace=changed["metadata"]["namespace"]))
        except ApiError as error:
            if code_of(error) in (CONFLICT, NOT_FOUND):
                return None
            raise

    def apply(self, kind: Kind, wanted: Object) -> Object:
        """Bring about what stands in ``wanted`` of an object, and nothing else (server-side apply)."""
        return self._apply(kind.resource, kind, wanted)

    def apply_status(self, kind: Kind, wanted: Object) -> Object:
        """Bring about the ``status`` in ``wanted``."""
        return self._apply(kind.resource.Status, kind, wanted)

    def _apply(self, resource: Any, kind: Kind, wanted: Object) -> Object:
        metadata = wanted["metadata"]
        body = {"apiVersion": kind.api_version, "kind": kind.name, **wanted}
        found = self._client.patch(
            resource, metadata["name"], body, namespace=metadata["namespace"], patch_type=PatchType.APPLY, force=True
        )
        return dict(cast(Any, found))

    def delete(self, kind: Kind, namespace: str, name: str, uid: str) -> None:
        """Ask for the end of the object with this uid; it is no fault if there is none, or another one of its name."""
        now = self.get(kind, namespace, name)
        if now is None or now["metadata"]["uid"] != uid:
            return
        try:
            self._client.delete(kind.resource, name, namespace=namespace, cascade=CascadeType.BACKGROUND)
        except ApiError as error:
            if code_of(error) != NOT_FOUND:
                raise


def code_of(error: ApiFault) -> int | None:
    """The HTTP status of a refusal, or that of a watch which broke off; None if nobody answered."""
    if isinstance(error, ApiError):
        return error.status.code
    return error.response.status_code if isinstance(error, httpx2.HTTPStatusError) else None


def kube_config(context: str | None = None) -> KubeConfig:
    """How to reach the API server: ``$KUBECONFIG``, else the service account of this pod, else ``~/.kube/config``.

    UsageError if there is none of them, or no such context.
    """
    try:
        found = KubeConfig.from_env()
        if context is not None:
            found = KubeConfig(clusters=found.clusters, users=found.users, contexts=found.contexts, current_context=context)
        found.get()
    except ConfigError as error:
        raise UsageError(f"No way to the API server of Kubernetes was found: {error}. Set KUBECONFIG.") from None
    return found
