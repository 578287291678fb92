"""The request of an update, and the watch over its new version."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from typing import Any

from pitstop.control.ports.registry import Registry
from pitstop.control.trying import an_update, tried
from pitstop.errors import UsageError, VersionError
from pitstop.kit.ids import check_name
from pitstop.model.config import OF_ONE_START, JobConfig
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.model.operation import GoingBack, UpdateJob
from pitstop.model.option_values import places_to_seek, renamed_stages, stages_to_drop
from pitstop.service.api import SubmitRequest

_NOT_OF_THE_VERSION = ("initial_snapshot", *OF_ONE_START)
"""The options for the start of a version, which are no part of the version itself."""


def options_after(job: Job, request: SubmitRequest) -> dict[str, Any]:
    """Return the new version's options: the requested ones override those of the job. UsageError if one is wrong."""
    pending = job.version.options.get("seek") if job.version.lineage is None else None
    if pending and "seek" not in request.options:
        places = ", ".join(f"{source}={place}" for source, place in places_to_seek("seek", pending).items())
        raise UsageError(
            f"Version {job.version.number} of job '{job.display_name}' has not started yet, and is to begin at {places}: give "
            "--seek with this update, too, or let the job start first."
        )
    before = {key: value for key, value in job.version.options.items() if key not in OF_ONE_START}
    return JobConfig.over(before, checked_options(request, before))


def checked_options(request: SubmitRequest, before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the options that a request sets. UsageError if one is wrong, alone or over ``before``."""
    options = {key: value for key, value in request.options.items() if value is not None}
    if not options.get("renamed"):
        options.pop("renamed", None)
    else:
        options["renamed"] = renamed_stages(options["renamed"])
    if "allow_drop" in options:
        options["allow_drop"] = list(stages_to_drop(options["allow_drop"]))
    if options.get("seek"):
        options["seek"] = places_to_seek("seek", options["seek"])
    JobConfig.from_options(JobConfig.over(before or {}, options))
    return options


def request_of(version: Version, options: Mapping[str, Any]) -> SubmitRequest:
    """Return the request for an earlier version, with these options over its own."""
    own = {key: value for key, value in version.options.items() if key not in _NOT_OF_THE_VERSION}
    changes = {key: value for key, value in options.items() if value is not None}
    source = version.source
    over = JobConfig.over(own, changes)
    return SubmitRequest(source.artifact, None, source.entry, source.args, options=over, origin=source.origin)


def update_request(
    job: Job,
    source: JobSource,
    options: dict[str, Any],
    request: SubmitRequest,
    watch_seconds: float,
    back: GoingBack | None = None,
    start_from: str | None = None,
) -> UpdateJob:
    """Return the request to the control loop."""
    if back is not None and start_from is not None:
        # Nothing of the snapshot that the version starts from is dropped.
        back = dataclasses.replace(back, allow_drop=tuple(options.get("allow_drop") or ()))
        options = {key: value for key, value in options.items() if key != "allow_drop"}
    snapshot = request.initial_snapshot or f"{job.name}-before-{job.version.number + 1}"
    return UpdateJob(source, options, check_name("snapshot", snapshot), watch_seconds, back, start_from)


def refuse_unless_updatable(registry: Registry, job: Job) -> None:
    """Raise the refusal of an update, before anything is stored or installed for it."""
    refusal = tried(registry, job, an_update(job)).refusal
    if refusal is not None:
        raise refusal


class Watch:
    """Watches whether a new version that is up runs well for so many seconds."""

    def __init__(self, registry: Registry, job_id: str, seconds: float) -> None:
        self._registry, self._job_id, self._seconds = registry, job_id, seconds
        self._until: float | None = None

    def is_over(self, version: int) -> bool:
        """True once the time is up. VersionError if the version was rolled back or has failed before."""
        if self._until is None:
            self._until = time.monotonic() + self._seconds
        job = self._registry.get_job(self._job_id)
        if job is None or job.version.number != version or job.state is JobState.FAILED:
            reason = (job.update_failure or job.failure) if job is not None else None
            raise VersionError(reason or "The job is gone.")
        return time.monotonic() >= self._until


def with_args_of(job: Job, request: SubmitRequest) -> SubmitRequest:
    """Return the request, with the arguments and the entry of the job's version where it names none."""
    before = job.version.source
    return dataclasses.replace(request, args=request.args or before.args, entry=request.entry or before.entry)
