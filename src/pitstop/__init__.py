"""Named, restartable, changeable streaming jobs on Spark Structured Streaming.

Everything that users import is here: ``import pitstop as ps``.
"""

from typing import Any

from pitstop.errors import PitstopError
from pitstop.pipeline import sinks, sources
from pitstop.pipeline.aggregates import Aggregate, aggregate, avg, count, max, max_by, min, min_by, sum
from pitstop.pipeline.job import JobDefinition, job
from pitstop.pipeline.stages import KeyedStage, Pipeline, Stage
from pitstop.pipeline.windows import Window, sliding, tumbling

__version__ = "0.1.0"

__all__ = [
    "Aggregate",
    "JobDefinition",
    "KeyedStage",
    "Pipeline",
    "PitstopError",
    "Stage",
    "Window",
    "__version__",
    "aggregate",
    "avg",
    "count",
    "job",
    "max",
    "max_by",
    "min",
    "min_by",
    "sinks",
    "sliding",
    "sources",
    "sum",
    "tumbling",
]


def __getattr__(name: str) -> Any:
    """``connect`` and ``run`` load their packages when first used, so that a definition imports neither HTTP nor Spark."""
    if name == "connect":
        from pitstop.client import connect

        return connect
    if name == "run":
        from pitstop.local import run

        return run
    raise AttributeError(f"module 'pitstop' has no attribute '{name}'")
