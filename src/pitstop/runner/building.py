"""A pipeline as the code of a job makes it: what can be known of a version before Spark knows of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pitstop.model.config import JobConfig
from pitstop.model.job import JobSource
from pitstop.pipeline.file_options import check_options
from pitstop.pipeline.job import JobDefinition
from pitstop.pipeline.stages import Pipeline
from pitstop.runner.artifacts import load_entry


@dataclass(frozen=True)
class Built:
    """A pipeline with its paths as they are written, and its options."""

    pipeline: Pipeline
    config: JobConfig
    base: JobConfig
    """The options in the job's own code."""


def build(definition: JobDefinition[...], source: JobSource, options: dict[str, Any]) -> Built:
    """Call the job's function with its arguments. PipelineError or UsageError if it is faulty."""
    return Built(definition.build(source.args), JobConfig.from_options(options, base=definition.config), definition.config)


def built_without_spark(source: JobSource, options: dict[str, Any]) -> Built | None:
    """Return the pipeline of a file that does not mention Spark, whose code needs no session; None if Spark may be needed.

    ArtifactError, PipelineError or UsageError if it is faulty. So these are told while an engine is still starting.
    """
    artifact = Path(source.artifact)
    if source.dependencies is not None or artifact.suffix != ".py" or not artifact.is_file() or b"spark" in artifact.read_bytes():
        return None
    built = build(load_entry(artifact, source.entry), source, options)
    check_options(built.pipeline.nodes)
    return built
