"""Named, restartable, changeable streaming jobs on Spark Structured Streaming.

Everything that users import is here: ``import pitstop as ps``.
"""

from pitstop import pipeline as _pipeline
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

del _pipeline
