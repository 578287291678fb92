"""The names that users call by ``import pitstop as ps``, but for those of other packages (pitstop.__init__)."""

from __future__ import annotations

from pitstop.errors import PitstopError
from pitstop.pipeline import sinks, sources
from pitstop.pipeline.aggregates import Aggregate, aggregate, all_of, avg, count, first, last, max, max_by, min, min_by, sum
from pitstop.pipeline.collecting import approx_count_distinct, bottom_n, collect_list, collect_set, count_distinct, top_n
from pitstop.pipeline.job import JobDefinition, job
from pitstop.pipeline.kafka_security import KafkaSecurity, kafka_security
from pitstop.pipeline.keyed import KeyedStage, co_group
from pitstop.pipeline.migration import Migration, OffsetMigration, migrate, migrate_offset
from pitstop.pipeline.object_stores import S3Store, s3_store
from pitstop.pipeline.sink import Sink
from pitstop.pipeline.source import Source
from pitstop.pipeline.stages import Pipeline, Stage
from pitstop.pipeline.statistics import linear_trend, stddev, variance
from pitstop.pipeline.windows import Session, Window, session, sliding, tumbling

__all__ = [
    "Aggregate",
    "JobDefinition",
    "KafkaSecurity",
    "KeyedStage",
    "Migration",
    "OffsetMigration",
    "Pipeline",
    "PitstopError",
    "S3Store",
    "Session",
    "Sink",
    "Source",
    "Stage",
    "Window",
    "aggregate",
    "all_of",
    "approx_count_distinct",
    "avg",
    "bottom_n",
    "co_group",
    "collect_list",
    "collect_set",
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
    "s3_store",
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
