"""The service over HTTP: the same verbs and reads as in the server."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2

from pitstop.errors import ArtifactError, UnreachableError, from_dict
from pitstop.model.job import Job, JobConfig, JobSource, JobState, Progress
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.service.api import JobView, SubmitRequest

DEFAULT_URL = "http://127.0.0.1:8701"
_LONG = 600.0


class HttpService:
    """Service at a URL. Errors of the server are raised as what they were there."""

    def __init__(self, url: str = DEFAULT_URL, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx2.Client(base_url=self.url + "/api/v1", headers=headers, timeout=httpx2.Timeout(30, read=_LONG))

    def submit(self, request: SubmitRequest) -> Job:
        return _view(self._post_artifact("/jobs", request, {})).job

    def check(self, request: SubmitRequest, job: str | None = None, snapshot: str | None = None) -> dict[str, Any]:
        return dict(self._post_artifact("/check", request, {"job": job, "snapshot": snapshot}))

    def jobs(self, include_ended: bool = False) -> list[JobView]:
        return [_view(data) for data in self._call("GET", "/jobs", params={"all": include_ended})]

    def job(self, name_or_id: str) -> JobView:
        return _view(self._call("GET", f"/jobs/{name_or_id}"))

    def suspend(self, name_or_id: str) -> None:
        self._call("POST", f"/jobs/{name_or_id}/suspend")

    def resume(self, name_or_id: str) -> None:
        self._call("POST", f"/jobs/{name_or_id}/resume")

    def restart(self, name_or_id: str) -> None:
        self._call("POST", f"/jobs/{name_or_id}/restart")

    def cancel(self, name_or_id: str) -> None:
        self._call("POST", f"/jobs/{name_or_id}/cancel")

    def export_snapshot(self, name_or_id: str, snapshot: str, cancel: bool = False) -> SnapshotRecord:
        body = {"name": snapshot, "cancel": cancel}
        return SnapshotRecord(**self._call("POST", f"/jobs/{name_or_id}/snapshots", json=body))

    def wait_for(self, name_or_id: str, states: tuple[JobState, ...], timeout: float) -> JobView:
        params = {"wait_for": ",".join(states), "timeout": timeout}
        return _view(self._call("GET", f"/jobs/{name_or_id}", params=params))

    def logs(self, name_or_id: str, after: int = 0, limit: int = 1000) -> tuple[list[str], int]:
        data = self._call("GET", f"/jobs/{name_or_id}/logs", params={"after": after, "limit": limit})
        return list(data["lines"]), int(data["next"])

    def snapshots(self) -> list[SnapshotRecord]:
        return [SnapshotRecord(**data) for data in self._call("GET", "/snapshots")]

    def snapshot(self, name: str) -> SnapshotManifest:
        return SnapshotManifest.from_dict(self._call("GET", f"/snapshots/{name}"))

    def delete_snapshot(self, name: str) -> None:
        self._call("DELETE", f"/snapshots/{name}")

    def maps(self) -> list[dict[str, Any]]:
        return list(self._call("GET", "/maps"))

    def map_get(self, name: str, key: str) -> str | None:
        found = [entry for entry in self.map_entries(name, prefix=key, limit=1) if entry["key"] == key]
        return found[0]["value"] if found else None

    def map_put(self, name: str, entries: dict[str, str]) -> None:
        values = {key: json.loads(value) for key, value in entries.items()}
        self._call("POST", f"/maps/{name}/entries", json={"entries": values})

    def map_delete(self, name: str, key: str) -> bool:
        return bool(self._call("DELETE", f"/maps/{name}/entries/{key}")["deleted"])

    def map_entries(self, name: str, prefix: str = "", after: str | None = None, limit: int = 1000) -> list[dict[str, Any]]:
        params = {"prefix": prefix, "limit": limit} | ({"after": after} if after is not None else {})
        return list(self._call("GET", f"/maps/{name}/entries", params=params))

    def map_size(self, name: str) -> int:
        return int(self._call("GET", f"/maps/{name}/size")["size"])

    def map_configure(self, name: str, journal_capacity: int | None = None, ttl_seconds: float | None = None) -> None:
        self._call("PUT", f"/maps/{name}", json={"journal_capacity": journal_capacity, "ttl_seconds": ttl_seconds})

    def map_journal(self, name: str, after: int | None = None, limit: int = 1000) -> dict[str, Any]:
        params = {"limit": limit} | ({"after": after} if after is not None else {})
        return dict(self._call("GET", f"/maps/{name}/journal", params=params))

    def server_info(self) -> dict[str, Any]:
        return dict(self._call("GET", "/cluster"))

    def _post_artifact(self, path: str, request: SubmitRequest, more: dict[str, Any]) -> Any:
        local = Path(request.artifact_name)
        content = request.artifact_bytes
        if content is None and "://" not in request.artifact_name:
            if not local.is_file():
                raise ArtifactError(f"File {local} could not be found.")
            content = local.read_bytes()
        body = {
            "artifact": local.name if content is not None else request.artifact_name,
            "entry": request.entry,
            "args": list(request.args),
            "name": request.name,
            "initial_snapshot": request.initial_snapshot,
            "options": request.options,
            **more,
        }
        files: dict[str, Any] = {"request": (None, json.dumps(body))}
        if content is not None:
            files["artifact"] = (local.name, content, "application/octet-stream")
        return self._call("POST", path, files=files)

    def _call(self, method: str, path: str, **options: Any) -> Any:
        try:
            response = self._http.request(method, path, **options)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
            raise UnreachableError(
                f"No Pitstop server answers at {self.url}: start one with 'pitstop serve', or give its address with --url."
            ) from error
        except httpx2.HTTPError as error:
            raise UnreachableError(f"The server at {self.url} broke off: {error}.") from error
        if response.status_code >= 400:
            try:
                raise from_dict(response.json())
            except ValueError:
                raise UnreachableError(f"What answers at {self.url} is no Pitstop server ({response.status_code}).") from None
        return response.json() if response.content else None


def _view(data: dict[str, Any]) -> JobView:
    job = Job(
        id=data["id"],
        name=data["name"],
        state=JobState(data["status"]),
        source=JobSource.from_dict(data["source"]),
        config=JobConfig.from_options(data["config"]),
        submission_time=_seconds(data["submission_time"]) or 0.0,
        start_time=_seconds(data["start_time"]),
        completion_time=_seconds(data["completion_time"]),
        **{
            key: data[key]
            for key in (
                "user_cancelled", "suspension_cause", "failure", "failure_details", "token", "termination", "attempts",
                "lineage", "plan",
            )
        },
    )  # fmt: skip
    return JobView(job, Progress.from_dict(data["progress"]))


def _seconds(text: str | None) -> float | None:
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
