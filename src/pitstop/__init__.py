"""Named, restartable, changeable streaming jobs on Spark Structured Streaming.

Everything that users import is here: ``import pitstop as ps``.
"""

import importlib
from typing import Any

from pitstop.errors import PitstopError
from pitstop.kit.version import __version__
from pitstop.pipeline import sinks, sources
from pitstop.pipeline.aggregates import Aggregate, aggregate, avg, count, max, max_by, min, min_by, sum
from pitstop.pipeline.job import JobDefinition, job
from pitstop.pipeline.stages import KeyedStage, Pipeline, Stage
from pitstop.pipeline.windows import Window, sliding, tumbling

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


_LATE = {"connect": "pitstop.client", "run": "pitstop.local"}


def __getattr__(name: str) -> Any:
    """``connect`` and ``run`` load their packages when first used, so that a definition imports neither HTTP nor Spark."""
    # Imported by name: the definitions above must not depend on what is built upon them.
    if name in _LATE:
        return getattr(importlib.import_module(_LATE[name]), name)
    raise AttributeError(f"module 'pitstop' has no attribute '{name}'")
