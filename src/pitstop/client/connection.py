"""The connection to a server: sends requests, and turns answers into values or errors."""

from __future__ import annotations

import functools
import getpass
import json
import os
import socket
import ssl
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote
from urllib.request import getproxies

import httpx2
from pydantic import TypeAdapter, ValidationError

from pitstop.client.address import DEFAULT_URL
from pitstop.client.local_server import LocalToken
from pitstop.client.repeating import broken, sent
from pitstop.errors import ArtifactError, UnreachableError, UsageError, WaitTimeoutError, from_dict
from pitstop.kit.version import __version__
from pitstop.machine.claimed_folders import HEADER, claim
from pitstop.machine.tcp import KEEP_ALIVE, loopback_addresses
from pitstop.model.audit import USER_HEADER
from pitstop.service.api import OPERATION_SECONDS, SubmitRequest

T = TypeVar("T")

CONNECT_SECONDS = 10.0
SPARE_SECONDS = 60.0
"""The time in seconds that the client waits for an answer beyond the longest that the server takes."""
_CLOSED = "This client is closed: connect again."
_QUIET_SECONDS = 40.0
"""The silence in seconds after which a stream of events counts as broken. A healthy one has a heart-beat every 15 seconds."""


class HttpConnection:
    """A server at a URL (``host:port`` is enough). Errors of the server are raised again here, each as its own class."""

    def __init__(
        self,
        url: str = DEFAULT_URL,
        token: str | None = None,
        program: str = "python",
        names_folders: bool = False,
        patience: float | None = None,
    ) -> None:
        """``program`` names the calling program, for the audit.

        ``names_folders``: relative paths and ``~`` of jobs and mappings count from the folder and the home of this process, if
        the server is on this machine. ``patience`` is the time in seconds that one request may take; None: as long as the server
        takes for it.
        """
        self._patience = patience
        self.url = (url if "://" in url else f"http://{url}").rstrip("/")
        headers = {b"User-Agent": f"pitstop-{program}/{__version__}".encode(), USER_HEADER.encode(): _user().encode()}
        if token:
            headers[b"Authorization"] = f"Bearer {token}".encode()
        auth = None if token else LocalToken()
        timeout = timeout_of(OPERATION_SECONDS)
        try:
            base = httpx2.URL(self.url + "/api/v1")
            # Requests to a server of this machine go through no proxy.
            proxied = not loopback_addresses(base.host)
            self._names_folders = names_folders and not proxied
            # Without TLS no certificates are read, which takes longer than a request.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if base.scheme == "http" and not proxied else True
            # The library takes either a transport or the proxies of the environment.
            by_proxy = proxied and bool(getproxies())
            transport = None if by_proxy else httpx2.HTTPTransport(verify=context, socket_options=KEEP_ALIVE, trust_env=proxied)
            self._http = httpx2.Client(
                base_url=base, headers=headers, timeout=timeout, auth=auth, trust_env=proxied, transport=transport
            )
        except (httpx2.InvalidURL, ValueError) as error:
            raise UnreachableError(f"'{url}' is not the address of a server: {error}. Give one as http://host:port.") from None

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _post_artifact(self, kind: type[T], path: str, request: SubmitRequest, more: dict[str, Any], **options: Any) -> T:
        name, content = request.artifact_name, request.artifact_bytes
        if content is None and "://" not in name:
            content, name = _read(Path(name)), Path(name).name
        body = {"artifact": name, "entry": request.entry, "args": list(request.args), **more}
        options["headers"] = self._folders()
        if content is None:
            return self._ask(kind, "POST", path, json=body, **options)
        files = {
            "request": (None, json.dumps(body), "application/json"),
            "artifact": (name, content, "application/octet-stream"),
        }
        return self._ask(kind, "POST", path, files=files, **options)

    def _folders(self) -> dict[str, str]:
        """Return the header that names this process's folders. An older server passes it over, and counts from its own."""
        return without_none({HEADER: claim() if self._names_folders else None})

    def _get(self, kind: type[T], path: str, **params: Any) -> T:
        return self._ask(kind, "GET", path, params=without_none(params))

    def _ask(self, kind: type[T], method: str, path: str, **options: Any) -> T:
        """Send a request, and return its answer as a value of that kind."""
        data = self._send(method, path, **options)
        try:
            value: T = adapter_of(cast(Any, kind)).validate_python(data)
        except ValidationError as error:
            raise self._not_pitstop(f"{method} {path} answered something else: {error.errors()[0]['msg']}") from None
        return value

    def _send(self, method: str, path: str, **options: Any) -> Any:
        """Send a request, and return the JSON of its answer; None if it is empty."""
        return self._json_of(self._request(method, path, **options))

    def _request(self, method: str, path: str, repeatable: bool = False, **options: Any) -> httpx2.Response:
        """Send a request. ``repeatable``: it does nothing twice, and is sent again if the connection breaks. A GET always is."""
        if self._http.is_closed:
            raise UsageError(_CLOSED)
        if self._patience is not None:
            options["timeout"] = httpx2.Timeout(self._patience, connect=CONNECT_SECONDS)
        repeatable = repeatable or method == "GET"
        try:
            return sent(lambda: self._http.request(method, path, **options), repeatable)
        except RuntimeError as error:
            if not self._http.is_closed:
                raise
            raise UsageError(_CLOSED) from error  # by another thread, just now
        except httpx2.ReadTimeout as error:
            if self._patience is None:
                raise UnreachableError(self._why_not(error, repeatable)) from error
            raise WaitTimeoutError(
                f"The server at {self.url} has not answered within {self._patience:g} s. What you asked for goes on by itself."
            ) from error
        except UnicodeEncodeError as error:
            raise UsageError(f"{error.object!r} is not valid text: it holds one half of a surrogate pair.") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            absent = {"absent": True} if isinstance(error, httpx2.ConnectError) else {}
            raise UnreachableError(self._why_not(error, repeatable), **absent) from error

    def _events(self, kinds: Collection[str], seconds: float | None) -> Iterator[tuple[str, Any]]:
        """Yield the events of these kinds, and those about the stream itself, until the stream ends."""
        timeout = httpx2.Timeout(_QUIET_SECONDS, connect=CONNECT_SECONDS)
        parameters = {"kind": list(kinds)} | without_none({"seconds": seconds})
        try:
            with self._http.stream("GET", "/events", params=parameters, timeout=timeout) as response:
                if response.is_error:
                    response.read()
                    self._json_of(response)
                kind = ""
                for line in response.iter_lines():
                    field, _, value = line.partition(": ")
                    kind = value if field == "event" else kind
                    if field == "data":
                        yield kind, json.loads(value)
        except httpx2.HTTPError as error:
            raise UnreachableError(self._why_not(error)) from error

    def _why_not(self, error: Exception, repeatable: bool = True) -> str:
        if self.url.startswith("https:") and _speaks_no_tls(error):
            return (
                f"The server at {self.url} speaks no TLS: give its address as {self.url.replace('https:', 'http:', 1)} (--url)."
            )
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol | httpx2.InvalidURL):
            return f"No Pitstop server answers at {self.url}: start one with 'pitstop serve' or give its address with --url."
        return broken(self.url, error, repeatable)

    def _json_of(self, response: httpx2.Response) -> Any:
        try:
            data = response.json() if response.content else None
        except ValueError:
            data = None
        if response.is_error and isinstance(data, dict) and "code" in data:
            raise from_dict(data)
        if not response.is_success or (response.content and data is None):
            content = f"HTTP {response.status_code}, {response.headers.get('content-type', 'no content type')}"
            raise self._not_pitstop(content)
        return data

    def _not_pitstop(self, content: str) -> UnreachableError:
        return UnreachableError(f"The server at {self.url} is not a Pitstop server ({content}): check --url.")


@functools.cache
def _user() -> str:
    """Return the name of the caller for the audit: the user of this process, and the machine."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):  # one without a name
        name = str(os.geteuid())
    return quote(f"{name}@{socket.gethostname()}")


@functools.cache
def timeout_of(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds + SPARE_SECONDS, connect=CONNECT_SECONDS)


@functools.cache
def adapter_of(kind: Any) -> TypeAdapter[Any]:
    """Return the adapter of a kind of answer. It is made once, since making one takes longer than reading with it."""
    return TypeAdapter(kind)


def without_none(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ArtifactError(f"File {path} could not be found.") from None
    except OSError as error:
        raise ArtifactError(f"File {path} cannot be read: {error.strerror}.") from None


def _speaks_no_tls(error: BaseException | None) -> bool:
    """Return True if what answered an attempt at TLS was no TLS."""
    while error is not None:
        if any(words in str(error) for words in ("WRONG_VERSION_NUMBER", "record layer failure", "HTTP_REQUEST")):
            return True
        error = error.__cause__ or error.__context__
    return False
