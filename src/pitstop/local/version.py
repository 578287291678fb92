"""A version of a job that runs in this process: a pipeline, its options, and its name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pitstop.errors import UsageError
from pitstop.kit.ids import check_name
from pitstop.model.config import OPTIONS, JobConfig, StateStore
from pitstop.pipeline.job import JobDefinition
from pitstop.pipeline.stages import Pipeline

OF_A_SERVER = (
    *("timeout", "max_accumulated_records", "compile_timeout", "first_epoch_timeout", "epoch_timeout"),
    *(
        "suspend_on_failure",
        "split_brain_protection",
        "store_metrics_after_completion",
        "requirements",
        "engine",
        "weight",
        "execution",
        "restart",
        "allow_shared",
    ),
)
"""Options that the control plane, or the process that a job has there, carries out."""


@dataclass(frozen=True)
class Version:
    """A job's code with its arguments and options."""

    name: str
    pipeline: Pipeline
    config: JobConfig


def version_of(
    job: Pipeline | JobDefinition[...], args: Sequence[Any], options: Mapping[str, Any], name: str | None, what: str
) -> Version:
    """Return the version that a caller asks for.

    A job marked with ``@ps.job`` brings its options, over which ``options`` go, and the migrations of its module. Those of its
    options that only a server carries out, such as ``restart``, stay the server's. UsageError, about ``what``, for such an option
    among ``options``, for a job that is neither a pipeline nor marked, and for arguments of a pipeline.
    """
    _refuse_what_only_a_server_does(JobConfig.from_options(options), what)
    if isinstance(job, JobDefinition):
        # An option of the code that is a word for the server means nothing here, and the same code runs there.
        own = {option: value for option, value in job.options.items() if option not in OF_A_SERVER}
        over = {option: value for option, value in options.items() if value is not None}
        config, pipeline = JobConfig.from_options({**own, **over}), job.build(args)
    elif isinstance(job, Pipeline):
        if args:
            raise UsageError(f"{what} takes no arguments beside a pipeline: {list(args)}. Give a function marked with @ps.job.")
        config, pipeline = JobConfig.from_options(options), job
    else:
        marked = f"mark it with @ps.job: {job.__name__}" if hasattr(job, "__name__") else f"got {job!r}"
        raise UsageError(f"{what} takes a function marked with @ps.job, with its arguments, or a pipeline: {marked}.")
    if config.state_store is StateStore.AUTO:
        config = dataclasses.replace(config, state_store=StateStore.ROCKSDB)  # nothing here could move it to disk later
    own_name = job.__name__ if isinstance(job, JobDefinition) else "local"
    return Version(check_name("job", name or own_name), pipeline, config)


def _refuse_what_only_a_server_does(config: JobConfig, what: str) -> None:
    usual = JobConfig()
    names = {option.name: option.field for option in OPTIONS if option.name in OF_A_SERVER}
    options = [name for name, field in names.items() if getattr(config, field) != getattr(usual, field)]
    if options:
        raise UsageError(
            f"{what} does not carry out the option {' or '.join(options)}, only a server does: leave it out, or submit the job "
            "to a server (pitstop submit)."
        )
