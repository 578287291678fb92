"""Named, restartable, changeable streaming jobs on Spark Structured Streaming.

Everything that users import is here: ``import pitstop as ps``.
"""

import importlib
from typing import TYPE_CHECKING, Any

from pitstop.errors import PitstopError
from pitstop.kit.version import __version__
from pitstop.pipeline import sinks, sources
from pitstop.pipeline.aggregates import Aggregate, aggregate, all_of, avg, count, first, last, max, max_by, min, min_by, sum
from pitstop.pipeline.collecting import approx_count_distinct, bottom_n, collect_list, collect_set, count_distinct, top_n
from pitstop.pipeline.job import JobDefinition, job
from pitstop.pipeline.kafka_security import KafkaSecurity, kafka_security
from pitstop.pipeline.keyed import KeyedStage, co_group
from pitstop.pipeline.migration import Migration, OffsetMigration, migrate, migrate_offset
from pitstop.pipeline.sink import Sink
from pitstop.pipeline.source import Source
from pitstop.pipeline.stages import Pipeline, Stage
from pitstop.pipeline.statistics import linear_trend, stddev, variance
from pitstop.pipeline.windows import Session, Window, session, sliding, tumbling

if TYPE_CHECKING:
    from pitstop.client import connect
    from pitstop.local import run

__all__ = [
    "Aggregate",
    "JobDefinition",
    "KafkaSecurity",
    "KeyedStage",
    "Migration",
    "OffsetMigration",
    "Pipeline",
    "PitstopError",
    "Session",
    "Sink",
    "Source",
    "Stage",
    "Window",
    "__version__",
    "aggregate",
    "all_of",
    "approx_count_distinct",
    "avg",
    "bottom_n",
    "co_group",
    "collect_list",
    "collect_set",
    "connect",
    "count",
    "count_distinct",
    "first",
    "job",
    "kafka_security",
    "last",
    "linear_trend",
    "max",
    "max_by",
    "migrate",
    "migrate_offset",
    "min",
    "min_by",
    "run",
    "session",
    "sinks",
    "sliding",
    "sources",
    "stddev",
    "sum",
    "top_n",
    "tumbling",
    "variance",
]

_LATE = {"connect": "pitstop.client", "run": "pitstop.local"}


if not TYPE_CHECKING:  # where there is one, a type checker takes any name for right

    def __getattr__(name: str) -> Any:
        """Load ``connect`` and ``run`` with their packages when first used: a definition imports neither HTTP nor Spark."""
        # Imported by name: the definitions above must not depend on what is built upon them.
        if name in _LATE:
            return getattr(importlib.import_module(_LATE[name]), name)
        raise AttributeError(f"module 'pitstop' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Name what users call, also what is not loaded yet."""
    return list(__all__)
