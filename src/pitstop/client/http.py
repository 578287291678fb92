"""The service over HTTP: each method sends a request, and pydantic turns the answer into the method's result."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast
from urllib.parse import quote

import httpx2

from pitstop.client.connection import CONNECT_SECONDS, SPARE_SECONDS, adapter_of, timeout_of, without_none
from pitstop.client.http_maps import HttpMaps
from pitstop.client.sql import Stop, results_in
from pitstop.errors import NotFoundError, UnreachableError, WaitTimeoutError
from pitstop.kit.ids import new_job_id
from pitstop.model.adoption import Adoption
from pitstop.model.audit import AuditEntry
from pitstop.model.execution import EPOCHS, ExecutionFacts
from pitstop.model.job import JobState
from pitstop.model.operation import Answer, CancelAndExport, Configure, Export, StateAtStart, UserRequest
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.model.task import StateRows
from pitstop.service.api import ADOPT_SECONDS, NOTHING_SAID, UPDATE_SECONDS, SubmitRequest
from pitstop.service.asked import not_in_time
from pitstop.service.cluster_results import Backup, ClusterInfo
from pitstop.service.history import JobHistory, Step
from pitstop.service.job_results import CheckResult, JobEvents, JobStatus, KeptState, UpdateResult
from pitstop.service.job_views import JobGraph, JobVerb, JobVersion, OptionInForce
from pitstop.service.kept_artifacts import Artifact
from pitstop.service.log_results import LoggerLevel, LogPage
from pitstop.service.settings import ServerSettings
from pitstop.service.snapshot_results import SnapshotDiff
from pitstop.service.sql_results import Result

PARQUET = "application/vnd.apache.parquet"
_CHANGES: dict[str, Any] = {"job": JobStatus, "cluster": ClusterInfo}
_WAIT_SECONDS = 20.0
"""The longest that one request waits, in seconds. Longer waits take several, so a lost client holds no thread for long."""


class HttpService(HttpMaps):
    """The service at a URL (``host:port`` is enough). Errors of the server are raised again here, each as its own class.

    Without a token, the client finds the token of this user's own server on this machine.
    """

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
        return self._post_artifact(Adoption, "/adoptions", request, more, timeout=timeout_of(ADOPT_SECONDS))

    def update(self, name_or_id: str, request: SubmitRequest, watch_seconds: float = 0.0) -> UpdateResult:
        more = {"options": request.options, "snapshot": request.initial_snapshot, "watch_seconds": watch_seconds}
        timeout = timeout_of(UPDATE_SECONDS + watch_seconds)
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
                yield kind, adapter_of(_CHANGES[kind]).validate_python(data["value"])

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

    def execution(self, name_or_id: str, epochs: int = EPOCHS) -> ExecutionFacts:
        return self._get(ExecutionFacts, _job(name_or_id) + "/execution", epochs=epochs)

    def peek(self, name_or_id: str, stage: str, limit: int = 20, wait_seconds: float = 30.0) -> StateRows:
        if not stage.strip(".") or "/" in stage:
            raise NotFoundError(f"Job '{name_or_id}' has no stage '{stage}'.")
        path, body = f"{_job(name_or_id)}/stages/{quote(stage, safe='')}/peek", {"limit": limit, "wait_seconds": wait_seconds}
        return self._ask(StateRows, "POST", path, json=body, timeout=timeout_of(wait_seconds), repeatable=True)

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
        timeout = timeout_of(UPDATE_SECONDS + watch_seconds)
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
        return self._ask(SnapshotRecord, "PUT", path, params=without_none({"as": name}), headers=headers, content=content)

    def server_info(self) -> ClusterInfo:
        return self._get(ClusterInfo, "/cluster")

    def settings(self) -> ServerSettings:
        return self._get(ServerSettings, "/settings")

    def add_member(self) -> str:
        return str(self._send("POST", "/cluster/members")["name"])

    def remove_member(self, name: str) -> None:
        self._send("DELETE", f"/cluster/members/{quote(name, safe='')}")

    def replace_engine(self, name: str) -> list[str]:
        # A JVM starts.
        timeout = httpx2.Timeout(UPDATE_SECONDS, connect=CONNECT_SECONDS)
        answer = self._send("POST", f"/cluster/engines/{quote(name, safe='')}/replace", timeout=timeout)
        return [str(job) for job in answer["jobs"]]

    def backup(self, folder: str) -> Backup:
        # It takes as long as the disk does.
        timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
        return self._ask(Backup, "POST", "/backups", json={"folder": folder}, timeout=timeout)

    def support_bundle(self) -> bytes:
        timeout = httpx2.Timeout(UPDATE_SECONDS, connect=CONNECT_SECONDS)
        response = self._request("POST", "/support-bundles", timeout=timeout)
        if not response.is_success:
            self._json_of(response)
        return response.content

    def shut_down(self) -> None:
        self._send("POST", "/cluster/shutdown")

    def sql(self, statements: str, stop: Stop | None = None) -> Iterator[Result]:
        """Run statements as ``Service.sql`` does. Another thread can end them by ``stop``."""
        timeout = httpx2.Timeout(UPDATE_SECONDS + SPARE_SECONDS, connect=CONNECT_SECONDS)
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
