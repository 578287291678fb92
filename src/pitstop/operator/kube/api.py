"""The operator's client of the API server. Only this file uses the client library (lightkube)."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterator, Sequence
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
from pitstop.machine.tcp import KEEP_ALIVE

Object = dict[str, Any]
"""An object as the API server sends it: ``apiVersion``, ``kind``, ``metadata``, and the fields of its kind."""

FIELD_MANAGER = "pitstop-operator"
"""The owner of the operator's fields in server-side apply."""
ApiFault = httpx2.HTTPError
"""The API server cannot be reached, or refuses. A refusal may not last, so every fault is worth another try."""
NOT_FOUND, CONFLICT, GONE = 404, 409, 410
_NO_NAME = re.compile(r"[^a-z0-9.-]|^\.+$|^$")
_PAGE = 500
_SECONDS = 15.0
_WATCH_SECONDS, _WATCH_SPARE_SECONDS = 300, 30.0
"""The time after which the API server should end a watch, so that no watch outlives the health of its connection. A watch that is
silent for longer than both together has a server that hangs."""


@dataclass(frozen=True)
class Kind:
    """A kind of objects that live in namespaces, such as ``Kind("apps", "v1", "StatefulSet", "statefulsets")``."""

    group: str
    version: str
    name: str
    plural: str
    built_in: bool = True
    """True if the kind comes with Kubernetes; False for the operator's own kinds."""

    @property
    def api_version(self) -> str:
        """The value of ``apiVersion`` in objects of this kind."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> type[GenericNamespacedResource]:
        """The library's class for the kind."""
        return _resource(self)


@functools.cache
def _resource_class(kind: Kind) -> type[GenericNamespacedResource]:
    if not kind.built_in:
        return create_namespaced_resource(kind.group, kind.version, kind.name, kind.plural)
    # The library's own classes for these hold fewer fields than a later Kubernetes sends: our objects are plain dictionaries.
    about = create_api_info(kind.group, kind.version, kind.name, kind.plural)
    return type(kind.name, (GenericNamespacedResource,), {"_api_info": about})


def _resource(kind: Kind) -> type[GenericNamespacedResource]:
    with _making:  # the library's registry takes no two threads at once
        return _resource_class(kind)


_making = threading.Lock()


class _Transport(httpx2.HTTPTransport):
    """A transport that waits for no answer without end. The library sets no limit for the silence of a watch."""

    def __init__(self, silence: float, **options: Any) -> None:
        super().__init__(**options)
        self._silence = silence

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        limits = request.extensions.get("timeout", {})
        if limits.get("read") is None:
            request.extensions["timeout"] = {**limits, "read": self._silence}
        return super().handle_request(request)


class Api:
    """A client of the API server. Each method sends requests, and raises ApiFault if one fails."""

    def __init__(
        self, config: KubeConfig, seconds: float = _SECONDS, watch_silence: float = _WATCH_SECONDS + _WATCH_SPARE_SECONDS
    ) -> None:
        """``seconds`` is the longest silence of the API server, in a watch ``watch_silence``."""
        context = config.get()
        if context is None or context.user is None:
            raise UsageError("The kubeconfig has no current context with a user: choose one with 'kubectl config use-context'.")
        trusted = verify_cluster(context.cluster, context.user, context.abs_file)
        transport = _Transport(watch_silence, verify=trusted, socket_options=KEEP_ALIVE)
        self._client = Client(context, timeout=httpx2.Timeout(seconds), field_manager=FIELD_MANAGER, transport=transport)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def list(self, kind: Kind, namespace: str | None, labels: dict[str, str] | None = None) -> tuple[list[Object], str]:
        """Return (all objects of a kind, the version of the store that they are from). ``namespace``: None for all namespaces."""
        answer = self._client.list(kind.resource, namespace=namespace or ALL_NS, chunk_size=_PAGE, labels=cast(Any, labels))
        objects: list[Object] = [dict(each) for each in answer]
        return objects, answer.resourceVersion

    def watch(
        self, kind: Kind, namespace: str | None, version: str, labels: dict[str, str] | None = None
    ) -> Iterator[tuple[str, Object]]:
        """Yield ("ADDED", "MODIFIED" or "DELETED", the object) for each change after that version. Ends only with ApiFault."""
        changes = self._client.watch(
            kind.resource,
            namespace=namespace or ALL_NS,
            labels=cast(Any, labels),
            resource_version=version,
            server_timeout=_WATCH_SECONDS,
        )
        for what, body in changes:
            yield what, dict(body)

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Return the object as it is now; None if there is none."""
        if _NO_NAME.search(name):
            return None  # in a URL it would lead elsewhere
        try:
            return dict(self._client.get(kind.resource, name, namespace=namespace))
        except ApiError as error:
            if code_of(error) == NOT_FOUND:
                return None
            raise

    def create(self, kind: Kind, body: Object) -> Object | None:
        """Create an object, and return it; None if there is one of its name."""
        try:
            return dict(self._client.create(cast(Any, kind.resource)(body), namespace=body["metadata"]["namespace"]))
        except ApiError as error:
            if code_of(error) == CONFLICT:
                return None
            raise

    def replace(self, kind: Kind, body: Object) -> Object | None:
        """Replace an object, and return it; None if it was changed or deleted since it was read."""
        try:
            client: Any = self._client
            return dict(client.replace(cast(Any, kind.resource)(body), namespace=body["metadata"]["namespace"]))
        except ApiError as error:
            if code_of(error) in (CONFLICT, NOT_FOUND):
                return None
            raise

    def apply(self, kind: Kind, fields: Object) -> Object:
        """Apply these fields to an object, and no others (server-side apply)."""
        return self._apply(kind.resource, kind, fields)

    def apply_status(self, kind: Kind, fields: Object) -> Object:
        """Apply the ``status`` among these fields."""
        return self._apply(kind.resource.Status, kind, fields)

    def _apply(self, resource: Any, kind: Kind, fields: Object) -> Object:
        metadata = fields["metadata"]
        body = {"apiVersion": kind.api_version, "kind": kind.name, **fields}
        answer = self._client.patch(
            resource, metadata["name"], body, namespace=metadata["namespace"], patch_type=PatchType.APPLY, force=True
        )
        return dict(cast(Any, answer))

    def set_finalizers(self, kind: Kind, body: Object, finalizers: Sequence[str]) -> None:
        """Let an object have these finalizers, whoever has set those that it has. Do nothing if the object is gone.

        A fault if it was changed since it was read: somebody else may have set another one.
        """
        metadata = body["metadata"]
        same = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        patch: Any = {"metadata": {**same, "finalizers": [*finalizers]}}
        client: Any = self._client
        try:
            client.patch(kind.resource, metadata["name"], patch, namespace=metadata["namespace"], patch_type=PatchType.MERGE)
        except ApiError as error:
            if code_of(error) != NOT_FOUND:
                raise

    def delete(self, kind: Kind, namespace: str, name: str, uid: str) -> None:
        """Delete the object with this uid. Do nothing if there is no such object, or another one has its name."""
        now = self.get(kind, namespace, name)
        if now is None or now["metadata"]["uid"] != uid:
            return
        try:
            self._client.delete(kind.resource, name, namespace=namespace, cascade=CascadeType.BACKGROUND)
        except ApiError as error:
            if code_of(error) != NOT_FOUND:
                raise


def code_of(error: ApiFault) -> int | None:
    """Return the HTTP status of a refusal or of a broken watch; None if there was no answer."""
    if isinstance(error, ApiError):
        return error.status.code
    return error.response.status_code if isinstance(error, httpx2.HTTPStatusError) else None


def kube_config() -> KubeConfig:
    """Return the way to the API server: ``$KUBECONFIG``, else the service account of this pod, else ``~/.kube/config``.

    UsageError if none of them exists.
    """
    try:
        config = KubeConfig.from_env()
        config.get()
    except ConfigError as error:
        raise UsageError(f"No way to the API server of Kubernetes was found: {error}. Set KUBECONFIG.") from None
    return config
