"""The process in which Spark plans the epochs of a Python source."""

from __future__ import annotations

import sys
from types import TracebackType

from pitstop.machine.hung_up import HUNG_UP

_PROGRAM = "pyspark.sql.streaming.python_streaming_source_runner"


def end_without_trace() -> None:
    """Spare the user a stack trace when Spark ends the query. In any other process this does nothing.

    Spark closes the connection at the end of each query. The process then cannot report its own end, and would print a trace on
    the screen of the program that runs the query.
    """
    spec = sys.modules["__main__"].__spec__
    if spec is not None and spec.name == _PROGRAM:
        sys.excepthook = _tell


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not isinstance(error, HUNG_UP):
        sys.__excepthook__(kind, error, trace)
