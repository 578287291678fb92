"""Failures of migrations as one sentence: the migration, its stage, a key whose rows it cannot take, and the cause."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from pitstop.errors import EngineError, IncompatibleError, PitstopError
from pitstop.spark.base.causes import Evidence, judge
from pitstop.spark.base.failures import first_line, reason
from pitstop.spark.base.naming import quoted
from pitstop.spark.internals.jvm import JavaError

MOST_KEYS, SEARCH_SECONDS = 1_000_000, 30.0
"""The most keys of a stage among which the one that fails is looked for, and the time after which it is given up."""
_HASH = "__hash"

Attempt = Callable[[DataFrame], None]
"""A function that runs a migration on some of the old rows, to the end."""


@contextmanager
def migration_errors(what: str, old: Callable[[], DataFrame], keys: Sequence[str], attempt: Attempt) -> Iterator[None]:
    """Turn what a migration raises into IncompatibleError, which begins with ``what``.

    ``old`` returns its input, whose key columns are ``keys``. An error that may pass, such as a full disk, is an EngineError.
    """
    try:
        yield
    except (IncompatibleError, EngineError):
        raise
    except PitstopError as error:
        raise IncompatibleError(error.message) from error
    except Exception as error:
        judgement = judge(Evidence(error))
        if judgement is not None and judgement.cause.details:
            raise EngineError(f"{what} failed: {judgement.sentence}", **judgement.cause.details) from error
        if not isinstance(error, (PySparkException, JavaError)) or isinstance(error, AnalysisException):
            raise IncompatibleError(f"{what} failed: {type(error).__name__}: {first_line(error)}") from error
        key = failing_key(old(), keys, attempt, _kind(error))
        at = f" for {key}" if key is not None else ""
        raise IncompatibleError(f"{what} failed{at}: {reason(error)}") from error


def failing_key(rows: DataFrame, keys: Sequence[str], attempt: Attempt, kind: str) -> str | None:
    """Return a key whose rows alone make ``attempt`` fail with an error of this kind, as ``key 7``; None if there is none.

    The search halves the keys again and again. It is given up after SEARCH_SECONDS.
    """
    deadline = time.monotonic() + SEARCH_SECONDS
    columns = [quoted(name) for name in keys if name in rows.columns]
    if not columns:
        return None
    hashed = rows.withColumn(_HASH, F.xxhash64(*columns))

    def fails(some: Sequence[int]) -> bool:
        try:
            attempt(hashed.where(F.col(_HASH).between(some[0], some[-1])).drop(_HASH))
        except (PySparkException, JavaError) as error:
            return _kind(error) == kind
        except Exception:  # fewer rows may be wrong for the migration in another way
            return False
        return False

    try:
        suspects = sorted(row[_HASH] for row in hashed.select(_HASH).distinct().limit(MOST_KEYS + 1).collect())
        if not suspects or len(suspects) > MOST_KEYS:
            return None
        while len(suspects) > 1:
            if time.monotonic() > deadline:
                return None
            half = len(suspects) // 2
            suspects = suspects[:half] if fails(suspects[:half]) else suspects[half:]
        if not fails(suspects):
            return None  # it takes the rows of several keys
        (row,) = hashed.where(F.col(_HASH) == suspects[0]).select(*columns).limit(1).collect()
    except (PySparkException, JavaError):  # the state itself cannot be read
        return None
    return ", ".join(f"{name} {row[name]}" for name in row.__fields__)


def _kind(error: BaseException) -> str:
    first = Evidence(error).first
    return first.kind if first is not None else type(error).__name__


def run_through(rows: DataFrame) -> int:
    """Compute all columns of all rows, and keep none; return the number of rows. A count alone would compute no column."""
    counts = Observation()
    rows.observe(counts, F.count(F.lit(1)).alias("rows")).write.format("noop").mode("overwrite").save()
    return int(counts.get["rows"])
