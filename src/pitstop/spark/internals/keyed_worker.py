"""Spark's Python worker, with a faster way for functions that keep state by key (``applyInPandasWithState``).

Spark makes several pandas objects for each key of an epoch, which takes more than a millisecond. Here a batch comes out of Arrow
at once, its keys are gone through as plain Python, and the rows that they make go back as one batch. What is sent is the same.
Sessions name this module in their settings (settings.py); in one that does not Spark's own way runs the same functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark import worker
from pyspark.util import PythonEvalType
from pyspark.worker_util import get_sock_file_to_executor, read_command

_read_udfs: Callable[..., tuple[Any, Any, Any, Any]] = worker.read_udfs


def _read(pickled: Any, told: Any, eval_type: int, settings: Any, evaluation: Any) -> tuple[Any, Any, Any, Any]:
    """Spark's ``read_udfs``: (function, profiler, what reads batches, what writes them)."""
    found = _read_udfs(pickled, told, eval_type, settings, evaluation)
    if eval_type != PythonEvalType.SQL_GROUPED_MAP_PANDAS_UDF_WITH_STATE:
        return found
    function, output = read_command(pickled, told[0].udfs[0])
    if not hasattr(function, "of_key"):
        return found  # a user's own
    # Only here: most workers run no such function, and Arrow takes half a second.
    from pitstop.spark.internals.keyed_batches import KeyedBatches

    _, keys, *places = told[0].args
    return (KeyedBatches(function, places[:keys], output, evaluation.state_value_schema), *found[1:])


worker.read_udfs = _read
main = worker.main

if __name__ == "__main__":
    with get_sock_file_to_executor() as executor:
        main(executor, executor)
