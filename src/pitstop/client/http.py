"""The service over HTTP: the same verbs and reads as in the server."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

from pitstop.client.decode import entry, event, job_view, snapshot_record
from pitstop.errors import ArtifactError, NotFoundError, UnreachableError, WaitTimeoutError, from_dict
from pitstop.kit.ids import check_name
from pitstop.model.job import Job, JobState
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.service.api import JobView, SubmitRequest

DEFAULT_URL = "http://127.0.0.1:8701"
PARQUET = "application/vnd.apache.parquet"
_CONNECT_SECONDS = 10.0
_ANSWER_SECONDS = 600.0
_WAIT_SECONDS = 20.0
"""A long wait is asked for in pieces, so that a lost client keeps no thread of the server for long."""


class HttpService:
    """Service at a URL (``host:port`` will do). Errors of the server are raised as what they were there."""

    def __init__(self, url: str = DEFAULT_URL, token: str | None = None) -> None:
        self.url = (url if "://" in url else f"http://{url}").rstrip("/")
        headers = {b"Authorization": f"Bearer {token}".encode()} if token else {}
        timeout = httpx2.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS)
        try:
            self._http = httpx2.Client(base_url=self.url + "/api/v1", headers=headers, timeout=timeout)
        except (httpx2.InvalidURL, ValueError) as error:
            raise UnreachableError(f"'{url}' is no address of a server: {error}. Give one as http://host:port.") from None

    def close(self) -> None:
        """Give back the connections."""
        self._http.close()

    def submit(self, request: SubmitRequest) -> Job:
        more = {"name": request.name, "initial_snapshot": request.initial_snapshot, "options": request.options}
        return job_view(self._post_artifact("/jobs", request, more)).job

    def check(self, request: SubmitRequest, job: str | None = None, snapshot: str | None = None) -> dict[str, Any]:
        return dict(self._post_artifact("/check", request, {"job": job, "snapshot": snapshot}))

    def update(self, name_or_id: str, request: SubmitRequest, watch_seconds: float = 0.0) -> dict[str, Any]:
        more = {"options": request.options, "snapshot": request.initial_snapshot, "watch_seconds": watch_seconds}
        return dict(self._post_artifact(_job(name_or_id) + "/update", request, more))

    def jobs(self, include_ended: bool = False) -> list[JobView]:
        return [job_view(data) for data in self._call("GET", "/jobs", params={"all": include_ended})]

    def job(self, name_or_id: str) -> JobView:
        return job_view(self._call("GET", _job(name_or_id)))

    def suspend(self, name_or_id: str) -> None:
        self._call("POST", _job(name_or_id) + "/suspend")

    def resume(self, name_or_id: str) -> None:
        self._call("POST", _job(name_or_id) + "/resume")

    def restart(self, name_or_id: str) -> None:
        self._call("POST", _job(name_or_id) + "/restart")

    def cancel(self, name_or_id: str) -> None:
        self._call("POST", _job(name_or_id) + "/cancel")

    def export_snapshot(self, name_or_id: str, snapshot: str, cancel: bool = False) -> SnapshotRecord:
        body = {"name": snapshot, "cancel": cancel}
        return snapshot_record(self._call("POST", _job(name_or_id) + "/snapshots", json=body))

    def wait_for(self, name_or_id: str, states: tuple[JobState, ...], timeout: float) -> JobView:
        deadline = time.monotonic() + timeout
        while True:
            left = max(0.0, deadline - time.monotonic())
            params = {"wait_for": ",".join(states), "timeout": min(_WAIT_SECONDS, left)}
            try:
                return job_view(self._call("GET", _job(name_or_id), params=params))
            except WaitTimeoutError:
                if left <= _WAIT_SECONDS:
                    break
        now, wanted = self.job(name_or_id).job.state, " or ".join(states)
        raise WaitTimeoutError(f"Job '{name_or_id}' is {now}, not {wanted}, after {timeout:.0f} seconds.")

    def logs(self, name_or_id: str, after: int = 0, limit: int = 1000) -> tuple[list[str], int]:
        data = self._call("GET", _job(name_or_id) + "/logs", params={"after": after, "limit": limit})
        return list(data["lines"]), int(data["next"])

    def snapshots(self) -> list[SnapshotRecord]:
        return [snapshot_record(data) for data in self._call("GET", "/snapshots")]

    def snapshot(self, name: str) -> SnapshotManifest:
        return SnapshotManifest.from_dict(self._call("GET", _snapshot(name)))

    def delete_snapshot(self, name: str) -> None:
        self._call("DELETE", _snapshot(name))

    def query_state(self, snapshot: str, stage: str, sql: str, limit: int = 1000) -> dict[str, Any]:
        return dict(self._call("POST", _stage(snapshot, stage) + "/query", json={"sql": sql, "limit": limit}))

    def export_state(self, snapshot: str, stage: str) -> bytes:
        return self._answer("GET", _stage(snapshot, stage) + "/state").content

    def import_state(self, snapshot: str, stage: str, content: bytes, name: str | None = None) -> SnapshotRecord:
        params, headers = {"as": name} if name is not None else {}, {"Content-Type": PARQUET}
        path = _stage(snapshot, stage) + "/state"
        return snapshot_record(self._call("PUT", path, params=params, headers=headers, content=content))

    def maps(self) -> list[dict[str, Any]]:
        return list(self._call("GET", "/maps"))

    def map_get(self, name: str, key: str) -> str | None:
        # Not by the address of one entry: there a missing entry and a wrong address would both be 404.
        found = self.map_entries(name, prefix=key, limit=1)
        return found[0]["value"] if found and found[0]["key"] == key else None

    def map_put(self, name: str, entries: dict[str, str]) -> None:
        values = {key: json.loads(value) for key, value in entries.items()}
        self._call("POST", _map(name) + "/entries", json={"entries": values})

    def map_delete(self, name: str, key: str) -> bool:
        return bool(self._call("DELETE", _map(name) + "/entry", params={"key": key})["deleted"])

    def map_entries(self, name: str, prefix: str = "", after: str | None = None, limit: int = 1000) -> list[dict[str, Any]]:
        params = {"prefix": prefix, "limit": limit} | ({"after": after} if after is not None else {})
        return [entry(data) for data in self._call("GET", _map(name) + "/entries", params=params)]

    def map_size(self, name: str) -> int:
        return int(self._call("GET", _map(name) + "/size")["size"])

    def map_configure(self, name: str, journal_capacity: int | None = None, ttl_seconds: float | None = None) -> None:
        self._call("PUT", _map(name), json={"journal_capacity": journal_capacity, "ttl_seconds": ttl_seconds})

    def map_journal(self, name: str, after: int | None = None, limit: int = 1000) -> dict[str, Any]:
        params = {"limit": limit} | ({"after": after} if after is not None else {})
        found = self._call("GET", _map(name) + "/journal", params=params)
        return dict(found) | {"events": [event(data) for data in found["events"]]}

    def server_info(self) -> dict[str, Any]:
        return dict(self._call("GET", "/cluster"))

    def _post_artifact(self, path: str, request: SubmitRequest, more: dict[str, Any]) -> Any:
        name, content = request.artifact_name, request.artifact_bytes
        if content is None and "://" not in name:
            content, name = _read(Path(name)), Path(name).name
        body = {"artifact": name, "entry": request.entry, "args": list(request.args), **more}
        if content is None:
            return self._call("POST", path, json=body)
        files = {
            "request": (None, json.dumps(body), "application/json"),
            "artifact": (name, content, "application/octet-stream"),
        }
        return self._call("POST", path, files=files)

    def _call(self, method: str, path: str, **options: Any) -> Any:
        return self._decoded(self._request(method, path, **options))

    def _answer(self, method: str, path: str) -> httpx2.Response:
        """An answer that is no JSON unless it is an error."""
        response = self._request(method, path)
        if not response.is_success:
            self._decoded(response)
        return response

    def _request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        try:
            return self._http.request(method, path, **options)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
            raise UnreachableError(
                f"No Pitstop server answers at {self.url}: start one with 'pitstop serve' or give its address with --url."
            ) from error
        except httpx2.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise UnreachableError(f"The server at {self.url} broke off: {reason}. See its log, and try again.") from error

    def _decoded(self, response: httpx2.Response) -> Any:
        try:
            data = response.json() if response.content else None
        except ValueError:
            data = None
        if response.is_error and isinstance(data, dict) and "code" in data:
            raise from_dict(data)
        if not response.is_success or (response.content and data is None):
            said = f"HTTP {response.status_code}, {response.headers.get('content-type', 'no content type')}"
            raise UnreachableError(f"What answers at {self.url} is no Pitstop server ({said}): check --url.")
        return data


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ArtifactError(f"File {path} could not be found.") from None
    except OSError as error:
        raise ArtifactError(f"File {path} cannot be read: {error.strerror}.") from None


# What cannot stand in a path cannot be a name either, so nothing of that name exists.


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
