"""Spark's daemon of Python workers, whose workers have a faster way for functions that keep state (``applyInPandasWithState``).

Spark makes several pandas objects for each key of an epoch, which takes more than a millisecond. Here a batch comes out of Arrow
at once, its keys are gone through as plain Python, and the rows that they make go back as one batch. What is sent is the same.
Sessions name this module in their settings (settings.py); in one that does not Spark's own way runs the same functions.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from functools import cache
from socket import socket
from typing import Any

from pyspark import daemon

from pitstop.machine.hung_up import HUNG_UP

_WORKER = "pyspark.worker"
_run_worker = daemon.worker
_LOGGER = "pitstop.engine"
EPOCH = "streaming.sql.batchId"
"""The local property of tasks by which Spark tells the number of their epoch."""
OUTPUT_VARIABLE = "PITSTOP_ENGINE_OUTPUT"
"""The variable of workers whose errors go into the log of a job. What they print is to go there, too."""


def _worker(sock: socket, authenticated: bool) -> int:
    """Run the worker in each process that the daemon forks: once for each task, as long as the process is used again."""
    if OUTPUT_VARIABLE in os.environ:
        os.dup2(2, 1)  # the daemon itself tells Java its port there
    if sys.argv[1:] == [_WORKER]:
        _prepare()
    try:
        return _run_worker(sock, authenticated)
    except HUNG_UP:
        _tell_hung_up()
        return 1  # Spark's daemon then ends the process


def _print(*words: object, **options: Any) -> None:
    """Print in the place of Spark's daemon, but for traces about a JVM that wants the rest of a task's rows no more.

    It hangs up after a limit, as a job stops, and when another task has failed, which is told by itself.
    """
    if isinstance(sys.exc_info()[1], HUNG_UP):
        _tell_hung_up()
    else:
        print(*words, **options)


def _tell_hung_up() -> None:
    logging.getLogger(_LOGGER).debug("a task's rows were wanted no more: %s", sys.exc_info()[1])


@cache
def _prepare() -> None:
    """Make Spark's worker read functions in our way. Nothing is imported before the fork, because Arrow and others start threads.

    This is done once in a process, whose tasks may be thousands. Each further call would add another layer around the one before.
    """
    from pyspark import TaskContext, worker
    from pyspark.util import PythonEvalType
    from pyspark.worker_util import read_command

    from pitstop.machine.logs import follow_levels, set_facts, show

    show()
    read_udfs: Callable[..., tuple[Any, Any, Any, Any]] = worker.read_udfs

    def read(pickled: Any, arguments: Any, eval_type: int, settings: Any, evaluation: Any) -> tuple[Any, Any, Any, Any]:
        """Return, as Spark's ``read_udfs`` does, (function, profiler, reader of batches, writer of batches)."""
        follow_levels()
        task = TaskContext.get()
        epoch = None if task is None else task.getLocalProperty(EPOCH)
        set_facts(**({} if epoch is None else {"epoch": int(epoch)}))
        readers = read_udfs(pickled, arguments, eval_type, settings, evaluation)
        if eval_type != PythonEvalType.SQL_GROUPED_MAP_PANDAS_UDF_WITH_STATE:
            return readers
        function, output = read_command(pickled, arguments[0].udfs[0])
        if not hasattr(function, "of_key"):
            return readers  # a user's own
        from pitstop.spark.internals.keyed_batches import KeyedBatches

        _, keys, *places = arguments[0].args
        return (KeyedBatches(function, places[:keys], output), *readers[1:])

    worker.read_udfs = read


def take_over() -> None:
    """Let Spark's daemon run our worker, and print in our way."""
    daemon.worker = _worker
    daemon.print = _print  # type: ignore[attr-defined]


if __name__ == "__main__":
    take_over()
    daemon.manager()
