"""Named, restartable, changeable streaming jobs on Spark Structured Streaming.

Everything that users import is here: ``import pitstop as ps``.
"""

import importlib
from typing import TYPE_CHECKING, Any

from pitstop.kit.version import __version__

if TYPE_CHECKING:
    from pitstop.client import connect
    from pitstop.local import run
    from pitstop.users import (
        Aggregate,
        JobDefinition,
        KafkaSecurity,
        KeyedStage,
        Migration,
        OffsetMigration,
        Pipeline,
        PitstopError,
        S3Store,
        Session,
        Sink,
        Source,
        Stage,
        Window,
        aggregate,
        all_of,
        approx_count_distinct,
        avg,
        bottom_n,
        co_group,
        collect_list,
        collect_set,
        count,
        count_distinct,
        first,
        job,
        kafka_security,
        last,
        linear_trend,
        max,
        max_by,
        migrate,
        migrate_offset,
        min,
        min_by,
        s3_store,
        session,
        sinks,
        sliding,
        sources,
        stddev,
        sum,
        top_n,
        tumbling,
        variance,
    )

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

_ELSEWHERE = {"connect": "pitstop.client", "run": "pitstop.local"}


if not TYPE_CHECKING:  # where there is one, a type checker takes any name for right

    def __getattr__(name: str) -> Any:
        """Load what users call when it is first used: the command line needs none of it, definitions neither HTTP nor Spark."""
        # Imported by name: the definitions must not depend on what is built upon them.
        if name not in __all__:
            raise AttributeError(f"module 'pitstop' has no attribute '{name}'")
        value = getattr(importlib.import_module(_ELSEWHERE.get(name, "pitstop.users")), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Name what users call, also what is not loaded yet."""
    return list(__all__)
