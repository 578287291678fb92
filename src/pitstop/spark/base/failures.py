"""Failures of Spark and of users' code as one sentence for a person."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from pyspark.errors import ParseException, PySparkException
from pyspark.sql import DataFrame

from pitstop.errors import EngineError, PipelineError, PitstopError, StoreError, is_of_the_machine
from pitstop.model.layout import StateLayout
from pitstop.pipeline.nodes import Node
from pitstop.spark.base.arithmetic import raised_by_aggregate
from pitstop.spark.base.away import SourceAwayError, SourceFaultError
from pitstop.spark.base.expressions import raised_in
from pitstop.spark.base.no_room import NO_MEMORY, no_room_in, without_rows
from pitstop.spark.base.prospects import Prospect, causes, passes_in_java, passes_in_worker, prospect
from pitstop.spark.base.unread_files import unread_file
from pitstop.spark.internals.jvm import JavaError, is_lost_java

_WORKER_LATE = ("Python worker failed to connect back",)
"""Spark's words for a Python worker that did not start within ten seconds: nothing of a job has run in it yet."""

_WORKER_LOST = ("Python worker exited unexpectedly",)
"""Spark's words for a Python worker that died."""

_EXECUTOR_LOST = (
    "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND",
    "ExecutorLostFailure",
    "FetchFailedException",
    "Failed to get broadcast",
)
"""Spark's words for a lost executor and the data only it had, such as rows of an epoch that one sink has already written."""

_ROW_ERROR = "pitstop.spark.lowering.row_functions.RowError"
"""An error that already names its stage and row."""

_SPARK_LOST = (
    "JAVA_GATEWAY_EXITED",
    "All masters are unresponsive",
    "Master removed our application",
    "stopped SparkContext",
)
"""Spark's words for a JVM that did not start, or that lost its cluster."""

_STATE_UNCONFIRMED = ("STATE_STORE_COMMIT_VALIDATION_FAILED",)
"""The name of Spark's error when not every task has reported that it has written its state."""

_HEAP_FULL = ("java.lang.OutOfMemoryError: Java heap space", "java.lang.OutOfMemoryError: GC overhead limit exceeded")
"""Java's words for a heap that is full. One thread may raise this while the others go on."""
_MORE_MEMORY = "Java's memory was full. $PITSTOP_DRIVER_MEMORY gives it more, state_store=rocksdb keeps state on disk."


_ADVICE = re.compile(r' If necessary set "spark\.sql\.ansi\.enabled" to "false" to bypass this error[^.]*\.')
"""Spark's advice to compute wrong numbers silently."""


def _named(*errors: type[Exception]) -> tuple[str, ...]:
    """Return the names that the traces of Python's processes use for our errors that say in one sentence what is wrong."""
    return tuple(f"{error.__module__}.{error.__qualname__}" for error in errors)


_NO_FILES = ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA")
"""The names of Spark's errors about a folder that is not there, or has no files to tell their columns by."""

_AWAY = _named(SourceAwayError, StoreError)
_FAULT = _named(SourceFaultError)


PASSING = {"restartable": True, "passing": True}
"""Details of an error by something outside that is away: it is tried again for as long as the job's options say."""

UNREAD_REMEDY = "A version that has not read it yet cannot start without it: put it back, whole, or change where it is read from."
"""The advice for a hash join's table that cannot be read and of which there is no copy."""


class EpochBoundaryError(Exception):
    """Ends a query between two epochs: the epoch that was about to begin has written nothing and is not committed."""


@contextmanager
def errors_of_stage(node: Node, frame: DataFrame | None = None) -> Iterator[None]:
    """Turn what a stage raises into a PipelineError that names the stage and its place in the user's code.

    ``frame``: the stage's input, whose columns are listed when it asks for one that is not there.
    """
    try:
        yield
    except PitstopError:
        raise
    except PySparkException as error:
        raise PipelineError(f"Stage '{node.name}' ({node.location}): {sentence(error, frame)}") from error
    except Exception as error:
        unread = unread_file(str(error))
        if unread is not None:
            raise PipelineError(f"Stage '{node.name}' ({node.location}): {unread}.", **PASSING) from error
        outside = passes_in_java(str(error))
        passes = PASSING if prospect(error) is Prospect.PASSES or outside else {}
        said = f"{type(error).__name__}: {error}"
        raise PipelineError(f"Stage '{node.name}' ({node.location}) failed in its own function: {said}", **passes) from error


@contextmanager
def errors_of_sink(node: Node) -> Iterator[None]:
    """Turn what the writer of a sink raises into an error that names the sink, and says if another attempt may succeed.

    Errors in rows that Spark computes for the sink are not errors of the sink.
    """
    try:
        yield
    except (PitstopError, EpochBoundaryError, PySparkException, JavaError):
        raise
    except Exception as error:
        message = f"Sink '{node.name}' ({node.location}) could not write an epoch: {type(error).__name__}: {first_line(error)}"
        if is_of_the_machine(error):
            raise EngineError(message, away=True) from error
        outlook = prospect(error)
        if outlook is Prospect.STAYS:
            raise EngineError(message) from error
        raise EngineError(
            message, **(PASSING if outlook is Prospect.PASSES else {"restartable": True, "unclear": True})
        ) from error


def sentence(error: PySparkException, frame: DataFrame | None) -> str:
    """Return Spark's message without its error class, plan and SQLSTATE."""
    condition = error.getCondition() or ""
    if condition.startswith("UNRESOLVED_COLUMN"):
        parameters = error.getMessageParameters() or {}
        name = str(parameters.get("objectName", "")).replace("`", "")
        have = f" There are: {', '.join(frame.columns)}." if frame is not None else ""
        return f"there is no column '{name}'.{have}"
    if isinstance(error, ParseException):
        return f"cannot read the expression: {first_line(error)}"
    # What failed in a Python worker stands at the end of a trace.
    return _deepest(str(error)) if "Traceback (most recent call last)" in str(error) else first_line(error)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, without Spark's ``[ERROR_CLASS]``, ``SQLSTATE`` and advice on ANSI mode."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if text.startswith("[") and "] " in text:
        text = text.split("] ", 1)[1]
    return _ADVICE.sub("", text.split(" SQLSTATE:")[0]).strip().rstrip(" .;") + "."


def reason(error: BaseException) -> str:
    """Return what went wrong, in one line, without the words of py4j around it."""
    if isinstance(error, PitstopError):
        return error.message
    text = str(error).strip()
    unread = unread_file(text)
    if unread is not None:
        return f"{unread}."
    if "Traceback (most recent call last)" in text:
        return _deepest(text)
    around, _, said = text.partition("\n: ")
    return first_line(Exception(said.partition(": ")[2] or said if said else around)) if text else type(error).__name__


def misses_files(error: BaseException) -> bool:
    """True if Spark found no files where some are to be read."""
    return any(isinstance(one, PySparkException) and one.getCondition() in _NO_FILES for one in causes(error))


def explain(
    error: BaseException,
    cause: BaseException | None,
    nodes: Iterable[Node] = (),
    layouts: Mapping[str, StateLayout] | None = None,
) -> PitstopError:
    """Return a failed query's error as one sentence; the whole text of Spark's error goes into ``details['trace']``.

    ``cause`` is the error that our own callback raised in the query, if it did. ``nodes`` are the stages whose expressions may
    have failed, and ``layouts`` the layouts of their state.
    """
    trace = str(error)
    if cause is not None and is_of_the_machine(cause):
        said = cause.message if isinstance(cause, PitstopError) else _deepest(str(cause) or type(cause).__name__)
        return EngineError(f"An epoch could not be written: {said}", trace=trace, away=True)
    away = _sentence_of(_AWAY, trace) or _sentence_of(_AWAY, str(cause))
    if away is not None:
        return EngineError(f"An epoch could not be read: {away}", trace=trace, away=True)
    fault = _sentence_of(_FAULT, trace) or _sentence_of(_FAULT, str(cause))
    if fault is not None:
        return EngineError(f"An epoch could not be read: {fault}", trace=trace, restartable=True)
    if no_room_in(trace) is not None:
        said = cause.message if isinstance(cause, PitstopError) else _deepest(str(cause or trace))
        return EngineError(f"An epoch could not be written: {said}", trace=trace, away=True)
    if _says(_EXECUTOR_LOST, trace, cause):
        sentence = (
            "An epoch failed: an executor was lost with rows that the epoch still needed. "
            "If that comes again, see the log of its member: it may have run out of memory."
        )
        return EngineError(sentence, trace=trace, restartable=True)
    if _says(_STATE_UNCONFIRMED, trace, cause):
        sentence = "An epoch failed: not all of its tasks have told Spark that they have written their state."
        return EngineError(sentence, trace=trace, restartable=True)
    if _says(_HEAP_FULL, trace, cause):
        return EngineError(f"An epoch failed: {_MORE_MEMORY}", trace=trace, restartable=True)
    if _says(_WORKER_LATE, trace, cause):
        return EngineError(
            f"An epoch failed, the machine being too busy: {_deepest(str(cause or trace))}", trace=trace, away=True
        )
    if _says((*_WORKER_LOST, *_SPARK_LOST), trace, cause):
        # No fault of the pipeline: a worker, or Spark, was killed.
        return EngineError(f"An epoch failed: {_deepest(str(cause or trace))}", trace=trace, restartable=True)
    if isinstance(cause, PitstopError):
        cause.details.setdefault("trace", trace)
        return cause
    said = f"{trace}\n{cause}"
    unread = unread_file(said, nodes)
    if unread is not None:
        return EngineError(f"An epoch could not be read: {unread}.", trace=trace, **PASSING)
    passes = passes_in_worker(said) or passes_in_java(said)
    if passes is not None:
        return EngineError(f"An epoch failed: {passes}", trace=trace, **PASSING)
    raised = None if cause is None else raised_while_computing(cause, nodes, layouts or {})
    if raised is not None:
        return EngineError(f"An epoch failed in {raised}", trace=trace)
    if cause is not None and "Python worker" in first_line(cause):
        return EngineError(f"An epoch failed: {_deepest(str(cause))}", trace=trace)
    if cause is not None and not isinstance(cause, EpochBoundaryError):
        return EngineError(f"An epoch failed: {type(cause).__name__}: {first_line(cause)}", trace=trace)
    return EngineError(f"The query failed: {_deepest(trace)}", trace=trace)


def raised_while_computing(error: BaseException, nodes: Iterable[Node], layouts: Mapping[str, StateLayout]) -> str | None:
    """Return the aggregate or expression of these stages that raised an error, and the reason; None if Spark names none."""
    nodes = tuple(nodes)
    aggregate = raised_by_aggregate(error, nodes, layouts)
    if aggregate is not None:
        where, instead = aggregate
        return f"{where}: {instead}." if instead is not None else f"{where}: {first_line(error)}"
    place = raised_in(error, nodes)
    return None if place is None else f"{place}: {first_line(error)}"


def explain_run(error: Exception) -> Exception:
    """Return the error that kept a run from starting or going on, if its job is not at fault. Otherwise return the error itself.

    The details of the error say ``away`` or ``restartable``.
    """
    chain = causes(error)
    said = "\n".join(str(one) for one in chain)
    if isinstance(error, PitstopError) and (error.details.get("restartable") or is_of_the_machine(error)):
        return error
    trace = "".join(traceback.format_exception(error))
    machine = next((one for one in chain if is_of_the_machine(one)), None)
    away, fault = _sentence_of(_AWAY, said), _sentence_of(_FAULT, said)
    no_room = away or no_room_in(said)
    if machine is not None or no_room is not None:
        why = no_room if machine is None else str(machine) or type(machine).__name__
        return EngineError(f"The run could not go on: {why}", trace=trace, away=True)
    if fault is not None:
        return EngineError(f"The run could not go on: {fault}", trace=trace, restartable=True)
    if any(map(is_lost_java, chain)) or any(words in said for words in _SPARK_LOST):
        return EngineError(f"The run has no Spark, or has lost it: {first_line(error)}", trace=trace, restartable=True)
    if _says(_HEAP_FULL, said, None):
        return EngineError(f"The run could not go on: {_MORE_MEMORY}", trace=trace, restartable=True)
    if _says(_WORKER_LATE, said, None):
        return EngineError(f"The run could not go on, the machine being too busy: {first_line(error)}", trace=trace, away=True)
    if _says((*_EXECUTOR_LOST, *_WORKER_LOST), said, None):
        return EngineError(f"The run could not go on: {first_line(error)}", trace=trace, restartable=True)
    unread = unread_file(said)
    if unread is not None:
        return EngineError(f"The run could not go on: {unread}.", trace=trace, **PASSING)
    passes = passes_in_worker(said) or passes_in_java(said)
    return EngineError(f"The run could not go on: {passes}", trace=trace, **PASSING) if passes is not None else error


def _sentence_of(errors: tuple[str, ...], text: str) -> str | None:
    """Return the sentence of one of these errors; None if the text has none of them."""
    found = (line.strip().partition(": ") for line in without_rows(text).splitlines())
    return next((sentence for head, _, sentence in found if head in errors), None)


def _says(words: tuple[str, ...], trace: str, cause: BaseException | None) -> bool:
    return any(word in trace or word in str(cause) for word in words)


def ended_at_boundary(error: BaseException) -> bool:
    """True if a query ended because it was stopped between two epochs."""
    return EpochBoundaryError.__name__ in str(error)


def _deepest(trace: str) -> str:
    """Return the root cause of a failure, with advice about a module that is missing."""
    found = _last_error(trace)
    if not found.startswith("ModuleNotFoundError:"):
        return found
    return f"{found.rstrip('.')}. If a package has it, name that among the requirements of the job (docs/dependencies.md)."


def _last_error(trace: str) -> str:
    """Return the last ``Error: message`` line of a Python worker's trace, else Spark's first line."""
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    for line in reversed(lines):
        head = line.split(":", 1)[0]
        if head == _ROW_ERROR:
            return line.split(":", 1)[1].strip()
        named = head.endswith(("Error", "Exception")) and " " not in head and not head.startswith("at ")
        if line == NO_MEMORY or (named and ":" in line):
            return line
    return first_line(Exception(lines[0] if lines else "unknown"))
