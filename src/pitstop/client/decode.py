"""From what travels over HTTP back to the values of the model."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Progress
from pitstop.model.snapshot import SnapshotRecord
from pitstop.service.api import JobView

_AS_SENT = (
    "id", "name", "user_cancelled", "suspension_cause", "failure", "failure_details", "options", "token", "termination",
    "attempts", "lineage", "plan", "version", "update_failure",
)  # fmt: skip


def job_view(data: dict[str, Any]) -> JobView:
    """A job and its progress."""
    job = Job(
        state=JobState(data["status"]),
        source=JobSource.from_dict(data["source"]),
        config=JobConfig.from_dict(data["config"]),
        submission_time=_seconds(data["submission_time"]),
        start_time=_optional_seconds(data["start_time"]),
        completion_time=_optional_seconds(data["completion_time"]),
        due=_optional_seconds(data["due"]),
        **{key: data[key] for key in _AS_SENT},
    )
    return JobView(job, Progress.from_dict(data["progress"]))


def snapshot_record(data: dict[str, Any]) -> SnapshotRecord:
    """A line of the registry of snapshots."""
    return SnapshotRecord(**data | {"created": _seconds(data["created"])})


def entry(data: dict[str, Any]) -> dict[str, Any]:
    """An entry of a map; its value as JSON text."""
    times = {"created": _seconds(data["created"]), "updated": _seconds(data["updated"])}
    return data | times | {"expires": _optional_seconds(data["expires"]), "value": _text(data["value"])}


def event(data: dict[str, Any]) -> dict[str, Any]:
    """An event of a journal. Null is a value as any other, so the kind says whether there was one."""
    old = None if data["kind"] == "ADDED" else _text(data["old_value"])
    new = None if data["kind"] in ("REMOVED", "EXPIRED") else _text(data["new_value"])
    return data | {"old_value": old, "new_value": new, "at": _seconds(data["at"])}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _seconds(text: str) -> float:
    # Python 3.11 and later read the Z of UTC.
    return datetime.fromisoformat(text).astimezone(UTC).timestamp()


def _optional_seconds(text: str | None) -> float | None:
    return None if text is None else _seconds(text)
