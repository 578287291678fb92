"""The service over HTTP: each method sends a request, and pydantic turns the answer into the method's result."""

from __future__ import annotations

import dataclasses
import functools
import getpass
import json
import os
import socket
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote

import httpx2
from pydantic import TypeAdapter, ValidationError

from pitstop.client.address import DEFAULT_URL
from pitstop.client.local_server import LocalToken
from pitstop.client.repeating import broken, sent
from pitstop.client.sql import Stop, results_in
from pitstop.errors import ArtifactError, NotFoundError, UnreachableError, UsageError, WaitTimeoutError, from_dict
from pitstop.kit.ids import check_name, new_job_id
from pitstop.kit.version import __version__
from pitstop.machine.claimed_folders import HEADER, claim
from pitstop.machine.tcp import loopback_addresses
from pitstop.maps.model import Entry, EventKind, JournalEvent
from pitstop.model.adoption import Adoption
from pitstop.model.audit import USER_HEADER, AuditEntry
from pitstop.model.job import JobState
from pitstop.model.operation import Answer, CancelAndExport, Configure, Export, StateAtStart, UserRequest
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.model.task import StateRows
from pitstop.service.api import ADOPT_SECONDS, NOTHING_SAID, OPERATION_SECONDS, UPDATE_SECONDS, SubmitRequest
from pitstop.service.asked import not_in_time
from pitstop.service.history import JobHistory, Step
from pitstop.service.job_views import JobGraph, JobVerb, JobVersion, OptionInForce
from pitstop.service.kept_artifacts import Artifact
from pitstop.service.results import (
    Backup,
    CheckResult,
    ClusterInfo,
    FoundEntries,
    JobEvents,
    JobStatus,
    JournalPage,
    KeptState,
    LoggerLevel,
    LogPage,
    MapFacts,
    SnapshotDiff,
    UpdateResult,
)
from pitstop.service.settings import ServerSettings
from pitstop.service.sql_results import Result

T = TypeVar("T")

PARQUET = "application/vnd.apache.parquet"
_CONNECT_SECONDS = 10.0
_SPARE_SECONDS = 60.0
"""The time in seconds that the client waits for an answer beyond the longest that the server takes."""
_QUIET_SECONDS = 40.0
"""The silence in seconds after which a stream of events counts as broken. A healthy one has a heart-beat every 15 seconds."""
_CHANGES: dict[str, Any] = {"job": JobStatus, "cluster": ClusterInfo}
_WAIT_SECONDS = 20.0
"""The longest that one request waits, in seconds. Longer waits take several, so a lost client holds no thread for long."""


class HttpService:
    """The service at a URL (``host:port`` is enough). Errors of the server are raised again here, each as its own class.

    Without a token, the client finds the token of this user's own server on this machine.
    """

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
        timeout = _timeout(OPERATION_SECONDS)
        try:
            base = httpx2.URL(self.url + "/api/v1")
            # Requests to a server of this machine go through no proxy.
            proxied = not loopback_addresses(base.host)
            self._names_folders = names_folders and not proxied
            self._http = httpx2.Client(base_url=base, headers=headers, timeout=timeout, auth=auth, trust_env=proxied)
        except (httpx2.InvalidURL, ValueError) as error:
            raise UnreachableError(f"'{url}' is not the address of a server: {error}. Give one as http://host:port.") from None

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def sign_in_link(self) -> str:
        """Return a link that signs a browser in with the rights of this client. It works once, within five minutes."""
        return self.url + str(self._send("POST", "/sign-in-links")["path"])

    def submit(self, request: SubmitRequest) -> JobStatus:
        more = {"name": request.name, "initial_snapshot": request.initial_snapshot, "options": request.options}
        # With an id, a submission whose answer is lost can be sent again: the job is submitted once.
        more["id"] = request.id if request.id is not None else new_job_id()
        return self._post_artifact(JobStatus, "/jobs", request, more, repeatable=True)

    def check(self, request: SubmitRequest, job: str | None = None, snapshot: str | None = None) -> CheckResult:
        more = {"options": request.options, "job": job, "snapshot": snapshot}
        return self._post_artifact(CheckResult, "/check", request, more, repeatable=True)

    def adopt(
        self,
        request: SubmitRequest,
        checkpoint: str,
        name: str | None = None,
        operators: Mapping[int, str] = NOTHING_SAID,
        sources: Mapping[int, str] = NOTHING_SAID,
        only_plan: bool = False,
    ) -> Adoption:
        more = {
            "options": request.options,
            "checkpoint": checkpoint,
            "name": name,
            "operators": dict(operators),
            "sources": dict(sources),
            "only_plan": only_plan,
        }
        return self._post_artifact(Adoption, "/adoptions", request, more, timeout=_timeout(ADOPT_SECONDS))

    def update(self, name_or_id: str, request: SubmitRequest, watch_seconds: float = 0.0) -> UpdateResult:
        more = {"options": request.options, "snapshot": request.initial_snapshot, "watch_seconds": watch_seconds}
        timeout = _timeout(UPDATE_SECONDS + watch_seconds)
        return self._post_artifact(UpdateResult, _job(name_or_id) + "/update", request, more, timeout=timeout)

    def do(self, name_or_id: str, request: UserRequest[Answer]) -> Answer:
        if isinstance(request, Export | CancelAndExport):
            body = {"name": request.snapshot, "cancel": isinstance(request, CancelAndExport)}
            record = self._ask(SnapshotRecord, "POST", _job(name_or_id) + "/snapshots", json=body)
            return cast(Answer, record)
        content = {"json": {"options": request.options}} if isinstance(request, Configure) else {}
        self._send("POST", f"{_job(name_or_id)}/{request.verb.value}", repeatable=request.repeatable, **content)
        return cast(Answer, None)

    def jobs(self, include_ended: bool = False) -> list[JobStatus]:
        return self._get(list[JobStatus], "/jobs", all=include_ended)

    def job_changes(self, seconds: float | None = None) -> Iterator[JobStatus | None]:
        """Yield each job that changes, without its progress.

        None asks the caller to read all jobs: it comes first, and whenever changes may have been missed. The stream ends after
        ``seconds``, or with the server. UnreachableError if it breaks off.
        """
        for _, change in self.changes(("job",), seconds):
            if change is None or isinstance(change, JobStatus):
                yield change

    def changes(
        self, kinds: Collection[str], seconds: float | None = None
    ) -> Iterator[tuple[str, JobStatus | ClusterInfo | None]]:
        """Yield the changes of several kinds, "job" and "cluster", as (kind, new value). None as the value: read all anew."""
        for kind, data in self._events(kinds, seconds):
            if kind in ("ready", "resync"):
                yield kind, None
            elif kind in _CHANGES and data["value"] is not None:
                yield kind, _adapter(_CHANGES[kind]).validate_python(data["value"])

    def kept_states(self) -> list[KeptState]:
        return self._get(list[KeptState], "/kept-states")

    def job(self, name_or_id: str) -> JobStatus:
        return self._get(JobStatus, _job(name_or_id))

    def wait_for(self, name_or_id: str, states: tuple[JobState, ...], timeout: float) -> JobStatus:
        deadline = time.monotonic() + timeout
        while True:
            seconds = max(0.0, deadline - time.monotonic())
            try:
                return self._get(JobStatus, _job(name_or_id), wait_for=",".join(states), timeout=min(_WAIT_SECONDS, seconds))
            except WaitTimeoutError:
                if seconds <= _WAIT_SECONDS:
                    break
        raise not_in_time(name_or_id, self.job(name_or_id).display_status, states, timeout)

    def graph(self, name_or_id: str, version: int | None = None) -> JobGraph:
        return self._get(JobGraph, _job(name_or_id) + "/graph", version=version)

    def versions(self, name_or_id: str) -> list[JobVersion]:
        return self._get(list[JobVersion], _job(name_or_id) + "/versions")

    def go_back(
        self,
        name_or_id: str,
        version: int,
        options: dict[str, Any] | None = None,
        watch_seconds: float = 0.0,
        start: StateAtStart = StateAtStart.PRESENT,
        write_again: bool = False,
    ) -> UpdateResult:
        body = {"options": options or {}, "watch_seconds": watch_seconds, "state": start.value, "write_again": write_again}
        timeout = _timeout(UPDATE_SECONDS + watch_seconds)
        return self._ask(UpdateResult, "POST", f"{_job(name_or_id)}/versions/{version}/go-back", json=body, timeout=timeout)

    def verbs(self, name_or_id: str) -> list[JobVerb]:
        return self._get(list[JobVerb], _job(name_or_id) + "/verbs")

    def options(self, name_or_id: str) -> list[OptionInForce]:
        return self._get(list[OptionInForce], _job(name_or_id) + "/options")

    def history(self, name_or_id: str, step: Step = Step.SECOND, after: float = 0.0) -> JobHistory:
        return self._get(JobHistory, _job(name_or_id) + "/history", step=step.value, after=after)

    def job_events(self, name_or_id: str, after: int = 0, limit: int = 1000, wait_seconds: float = 0.0) -> JobEvents:
        deadline = time.monotonic() + wait_seconds
        while True:
            seconds = max(0.0, deadline - time.monotonic())
            parameters = {"after": after, "limit": limit, "wait_seconds": min(_WAIT_SECONDS, seconds)}
            page = self._get(JobEvents, _job(name_or_id) + "/events", **parameters)
            if page.events or page.ended or seconds <= _WAIT_SECONDS:
                return page

    def logs(self, name_or_id: str, after: int = 0, limit: int = 1000) -> LogPage:
        return self._get(LogPage, _job(name_or_id) + "/logs", after=after, limit=limit)

    def artifacts(self) -> list[Artifact]:
        return self._get(list[Artifact], "/artifacts")

    def audit(self, before: int | None = None, limit: int = 1000) -> list[AuditEntry]:
        return self._get(list[AuditEntry], "/audit", before=before, limit=limit)

    def log_levels(self, job: str | None = None) -> list[LoggerLevel]:
        return self._get(list[LoggerLevel], "/log-levels", job=job)

    def set_log_level(self, logger: str, level: str | None, job: str | None = None) -> list[LoggerLevel]:
        body = {"logger": logger, "level": level, "job": job}
        return self._ask(list[LoggerLevel], "PUT", "/log-levels", json=body, repeatable=True)

    def snapshots(self) -> list[SnapshotRecord]:
        return self._get(list[SnapshotRecord], "/snapshots")

    def snapshot(self, name: str) -> SnapshotManifest:
        return SnapshotManifest.from_dict(self._send("GET", _snapshot(name)))

    def snapshot_diff(self, first: str, second: str) -> SnapshotDiff:
        return self._get(SnapshotDiff, _snapshot(first) + "/diff", other=second)

    def delete_snapshot(self, name: str) -> None:
        self._send("DELETE", _snapshot(name))

    def query_state(self, snapshot: str, stage: str, sql: str, limit: int = 1000) -> StateRows:
        body = {"sql": sql, "limit": limit}
        return self._ask(StateRows, "POST", _stage(snapshot, stage) + "/query", json=body, repeatable=True)

    def export_state(self, snapshot: str, stage: str) -> bytes:
        response = self._request("GET", _stage(snapshot, stage) + "/state")
        if not response.is_success:
            self._json_of(response)
        return response.content

    def import_state(self, snapshot: str, stage: str, content: bytes, name: str | None = None) -> SnapshotRecord:
        path, headers = _stage(snapshot, stage) + "/state", {"Content-Type": PARQUET}
        return self._ask(SnapshotRecord, "PUT", path, params=_without_none({"as": name}), headers=headers, content=content)

    def maps(self) -> list[MapFacts]:
        return self._get(list[MapFacts], "/maps")

    def map_get(self, name: str, key: str) -> str | None:
        entry = self.map_entry(name, key)
        return entry.value if entry else None

    def map_entry(self, name: str, key: str) -> Entry | None:
        # Not by the address of one entry: there a missing entry and a wrong address would both be 404.
        entries = self.map_entries(name, prefix=key, limit=1)
        return entries[0] if entries and entries[0].key == key else None

    def map_put(self, name: str, entries: dict[str, str], expected_version: int | None = None) -> None:
        values = {key: json.loads(value) for key, value in entries.items()}
        self._send("POST", _map(name) + "/entries", json=_without_none({"entries": values, "expected_version": expected_version}))

    def map_delete(self, name: str, key: str, version: int | None = None) -> bool:
        return bool(
            self._send("DELETE", _map(name) + "/entry", params=_without_none({"key": key, "version": version}))["deleted"]
        )

    def map_entries(self, name: str, prefix: str = "", after: str | None = None, limit: int = 1000) -> list[Entry]:
        return self._get(list[Entry], _map(name) + "/entries", prefix=prefix, after=after, limit=limit)

    def map_search(self, name: str, where: str, prefix: str = "", after: str | None = None, limit: int = 1000) -> FoundEntries:
        return self._get(FoundEntries, _map(name) + "/search", where=where, prefix=prefix, after=after, limit=limit)

    def map_size(self, name: str) -> int:
        return int(self._send("GET", _map(name) + "/size")["size"])

    def map_configure(self, name: str, journal_capacity: int | None = None, ttl_seconds: float | None = None) -> None:
        body = {"journal_capacity": journal_capacity, "ttl_seconds": ttl_seconds}
        self._send("PUT", _map(name), json=body, repeatable=True)

    def map_journal(self, name: str, after: int | None = None, limit: int = 1000) -> JournalPage:
        page = self._get(JournalPage, _map(name) + "/journal", after=after, limit=limit)
        return dataclasses.replace(page, events=[_with_nulls(event) for event in page.events])

    def server_info(self) -> ClusterInfo:
        return self._get(ClusterInfo, "/cluster")

    def settings(self) -> ServerSettings:
        return self._get(ServerSettings, "/settings")

    def add_member(self) -> str:
        return str(self._send("POST", "/cluster/members")["name"])

    def remove_member(self, name: str) -> None:
        self._send("DELETE", f"/cluster/members/{quote(name, safe='')}")

    def backup(self, folder: str) -> Backup:
        # It takes as long as the disk does.
        timeout = httpx2.Timeout(None, connect=_CONNECT_SECONDS)
        return self._ask(Backup, "POST", "/backups", json={"folder": folder}, timeout=timeout)

    def shut_down(self) -> None:
        self._send("POST", "/cluster/shutdown")

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
        return _without_none({HEADER: claim() if self._names_folders else None})

    def _get(self, kind: type[T], path: str, **params: Any) -> T:
        return self._ask(kind, "GET", path, params=_without_none(params))

    def _ask(self, kind: type[T], method: str, path: str, **options: Any) -> T:
        """Send a request, and return its answer as a value of that kind."""
        data = self._send(method, path, **options)
        try:
            value: T = _adapter(cast(Any, kind)).validate_python(data)
        except ValidationError as error:
            raise self._not_pitstop(f"{method} {path} answered something else: {error.errors()[0]['msg']}") from None
        return value

    def _send(self, method: str, path: str, **options: Any) -> Any:
        """Send a request, and return the JSON of its answer; None if it is empty."""
        return self._json_of(self._request(method, path, **options))

    def _request(self, method: str, path: str, repeatable: bool = False, **options: Any) -> httpx2.Response:
        """Send a request. ``repeatable``: it does nothing twice, and is sent again if the connection breaks. A GET always is."""
        if self._http.is_closed:
            raise UsageError("This client is closed: connect again.")
        if self._patience is not None:
            options["timeout"] = httpx2.Timeout(self._patience, connect=_CONNECT_SECONDS)
        repeatable = repeatable or method == "GET"
        try:
            return sent(lambda: self._http.request(method, path, **options), repeatable)
        except httpx2.ReadTimeout as error:
            if self._patience is None:
                raise UnreachableError(self._why_not(error, repeatable)) from error
            raise WaitTimeoutError(
                f"The server at {self.url} has not answered within {self._patience:g} s. What you asked for goes on by itself."
            ) from error
        except UnicodeEncodeError as error:
            raise UsageError(f"{error.object!r} is not valid text: it holds one half of a surrogate pair.") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise UnreachableError(self._why_not(error, repeatable)) from error

    def _events(self, kinds: Collection[str], seconds: float | None) -> Iterator[tuple[str, Any]]:
        """Yield the events of these kinds, and those about the stream itself, until the stream ends."""
        timeout = httpx2.Timeout(_QUIET_SECONDS, connect=_CONNECT_SECONDS)
        parameters = {"kind": list(kinds)} | _without_none({"seconds": seconds})
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

    def sql(self, statements: str, stop: Stop | None = None) -> Iterator[Result]:
        """Run statements as ``Service.sql`` does. Another thread can end them by ``stop``."""
        timeout = httpx2.Timeout(UPDATE_SECONDS + _SPARE_SECONDS, connect=_CONNECT_SECONDS)
        try:
            body, headers = {"statements": statements}, self._folders()
            with self._http.stream("POST", "/sql", json=body, headers=headers, timeout=timeout) as response:
                if response.is_error:
                    response.read()
                    self._json_of(response)
                if stop is not None:
                    stop.watch(response.extensions["network_stream"].get_extra_info("socket"))
                yield from results_in(response.iter_lines())
        except httpx2.HTTPError as error:
            raise UnreachableError(self._why_not(error, repeatable=False)) from error

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
def _timeout(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds + _SPARE_SECONDS, connect=_CONNECT_SECONDS)


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the adapter of a kind of answer. It is made once, since making one takes longer than reading with it."""
    return TypeAdapter(kind)


def _without_none(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _with_nulls(event: JournalEvent) -> JournalEvent:
    """Return the event with its nulls restored: HTTP shows null and no value alike, and the event's kind tells them apart."""
    old = event.old_value or ("null" if event.kind is not EventKind.ADDED else None)
    new = event.new_value or ("null" if event.kind in (EventKind.ADDED, EventKind.UPDATED) else None)
    return dataclasses.replace(event, old_value=old, new_value=new)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ArtifactError(f"File {path} could not be found.") from None
    except OSError as error:
        raise ArtifactError(f"File {path} cannot be read: {error.strerror}.") from None


# A text that cannot stand in a path cannot be a name either, so nothing of that name exists.


def _job(name_or_id: str) -> str:
    if not name_or_id.strip(".") or "/" in name_or_id:
        raise NotFoundError(f"No job with name or id '{name_or_id}' was found")
    return f"/jobs/{quote(name_or_id, safe='')}"


def _snapshot(name: str) -> str:
    if not name.strip(".") or "/" in name:
        raise NotFoundError(f"Didn't find a snapshot named '{name}'")
    return f"/snapshots/{quote(name, safe='')}"


def _stage(snapshot: str, stage: str) -> str:
    if not stage.strip(".") or "/" in stage:
        raise NotFoundError(f"Snapshot '{snapshot}' has no stage '{stage}' with state.")
    return f"{_snapshot(snapshot)}/stages/{quote(stage, safe='')}"


def _map(name: str) -> str:
    return f"/maps/{quote(check_name('map', name), safe='')}"


def _speaks_no_tls(error: BaseException | None) -> bool:
    """Return True if what answered an attempt at TLS was no TLS."""
    while error is not None:
        if any(words in str(error) for words in ("WRONG_VERSION_NUMBER", "record layer failure", "HTTP_REQUEST")):
            return True
        error = error.__cause__ or error.__context__
    return False
