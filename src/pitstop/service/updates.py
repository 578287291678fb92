"""What an update asks for, and watching what becomes of it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from typing import Any

from pitstop.control.ports import Registry
from pitstop.control.trying import an_update, tried
from pitstop.errors import VersionError
from pitstop.kit.ids import check_name
from pitstop.model.config import JobConfig, renamed_stages, stages_to_drop
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.model.operation import GoingBack, UpdateJob
from pitstop.service.api import SubmitRequest

OF_ONE_START = ("initial_snapshot", "renamed", "allow_drop")
"""Options that say where a version starts from, not what it is."""


def options_after(job: Job, request: SubmitRequest) -> dict[str, Any]:
    """The new version's options: what is asked for goes over what the job was submitted with. UsageError if one is wrong."""
    before = {key: value for key, value in job.version.options.items() if key not in ("renamed", "allow_drop")}
    return JobConfig.over(before, checked_options(request, before))


def checked_options(request: SubmitRequest, before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The options of a request but those that it leaves as they are. UsageError if one is wrong, also over ``before``."""
    options = {key: value for key, value in request.options.items() if value is not None}
    if not options.get("renamed"):
        options.pop("renamed", None)
    else:
        options["renamed"] = renamed_stages(options["renamed"])
    if "allow_drop" in options:
        options["allow_drop"] = list(stages_to_drop(options["allow_drop"]))
    JobConfig.from_options(JobConfig.over(before or {}, options))
    return options


def request_of(version: Version, options: Mapping[str, Any]) -> SubmitRequest:
    """What asks for an earlier version once more, with these options over its own."""
    own = {key: value for key, value in version.options.items() if key not in OF_ONE_START}
    given = {key: value for key, value in options.items() if value is not None}
    source = version.source
    return SubmitRequest(source.artifact, None, source.entry, source.args, None, None, JobConfig.over(own, given))


def update_request(
    job: Job,
    source: JobSource,
    options: dict[str, Any],
    request: SubmitRequest,
    watch_seconds: float,
    back: GoingBack | None = None,
    start_from: str | None = None,
) -> UpdateJob:
    """What is asked of the control loop."""
    if back is not None and start_from is not None:
        # Of the snapshot that it starts from nothing is dropped.
        back = dataclasses.replace(back, allow_drop=tuple(options.get("allow_drop") or ()))
        options = {key: value for key, value in options.items() if key != "allow_drop"}
    snapshot = request.initial_snapshot or f"{job.name}-before-{job.version.number + 1}"
    return UpdateJob(source, options, check_name("snapshot", snapshot), watch_seconds, back, start_from)


def refuse_unless_updatable(registry: Registry, job: Job) -> None:
    """Raise what an update would be refused with, before anything is stored or installed for it."""
    refusal = tried(registry, job, an_update(job)).refusal
    if refusal is not None:
        raise refusal


class Watch:
    """Looks whether a new version that is up has gone well for so many seconds."""

    def __init__(self, registry: Registry, job_id: str, seconds: float) -> None:
        self._registry, self._job_id, self._seconds = registry, job_id, seconds
        self._until: float | None = None

    def is_over(self, version: int) -> bool:
        """True once the time is up; VersionError if the version has been rolled back, or has failed, before."""
        if self._until is None:
            self._until = time.monotonic() + self._seconds
        job = self._registry.get_job(self._job_id)
        if job is None or job.version.number != version or job.state is JobState.FAILED:
            reason = (job.update_failure or job.failure) if job is not None else None
            raise VersionError(reason or "The job is gone.")
        return time.monotonic() >= self._until


def with_args_of(job: Job, request: SubmitRequest) -> SubmitRequest:
    """A request that names no arguments and no entry takes those of the version before."""
    before = job.version.source
    return dataclasses.replace(request, args=request.args or before.args, entry=request.entry or before.entry)
