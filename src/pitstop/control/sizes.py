"""The size of a job's state, as far as its runs have reported it."""

from __future__ import annotations

from typing import Any

from pitstop.control.ports.registry import Registry
from pitstop.model.job import Job
from pitstop.plan.model import Plan
from pitstop.plan.sizes import state_sizes


def last_sizes(registry: Registry, job: Job) -> dict[str, dict[str, Any]]:
    """Stage -> {operators, rows, bytes} of the state that the job has by now, or keeps; empty if no run has told it."""
    version = job.saved
    stages = registry.progress(job.id).stages
    return state_sizes(Plan.from_dict(version.plan), stages) if version.plan and stages else {}
