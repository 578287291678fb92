"""The process in which Spark plans the epochs of a Python source."""

from __future__ import annotations

import sys
from types import TracebackType

_PROGRAM = "pyspark.sql.streaming.python_streaming_source_runner"


def end_without_trace() -> None:
    """Let this process, if it is one of those, end without a stack trace once Spark has closed its connection.

    Spark does so at the end of each query. The process then fails to tell Spark so, now and again by a trace on the screen of
    the program that runs the query.
    """
    spec = sys.modules["__main__"].__spec__
    if spec is not None and spec.name == _PROGRAM:
        sys.excepthook = _tell


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not isinstance(error, (BrokenPipeError, ConnectionResetError)):
        sys.__excepthook__(kind, error, trace)
