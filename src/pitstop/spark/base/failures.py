"""Failures of Spark and of users' code as one sentence for a person. The causes themselves are a table (causes.py)."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import ParseException, PySparkException
from pyspark.sql import DataFrame

from pitstop.errors import EngineError, PipelineError, PitstopError, is_of_the_machine
from pitstop.model.layout import StateLayout
from pitstop.pipeline.nodes import Node
from pitstop.spark.base.causes import PASSING as PASSING
from pitstop.spark.base.causes import Evidence, Phase, judge, last_words, may_not_open, without_advice
from pitstop.spark.base.prospects import Prospect, causes, passes_in_java, prospect
from pitstop.spark.internals.jvm import JavaError

_NO_FILES = ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA")
"""The names of Spark's errors about a folder that is not there, or has no files to tell their columns by."""

UNREAD_REMEDY = "A version that has not read it yet cannot start without it: restore the complete table, or change its path."
"""The advice for a hash join's table that cannot be read and of which there is no copy."""


_FAILED = {
    Phase.READING: "could not be read: ",
    Phase.WRITING: "could not be written: ",
    Phase.ANY: "failed: ",
    Phase.LOST: "failed: ",
    Phase.BUSY: "failed, the machine being too busy: ",
    Phase.PLACE: "failed in ",
}
"""Words for the failure of an epoch, or of a job that is run once."""
_RUN_FAILED = {
    Phase.ANY: "The run could not go on: ",
    Phase.LOST: "The run has no Spark, or has lost it: ",
    Phase.BUSY: "The run could not go on, the machine being too busy: ",
}
"""Words for the failure of a run. Those of ANY serve for the other phases, too."""


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
        judgement = judge(Evidence(error))
        if judgement is not None and judgement.cause.phase is Phase.READING:
            raise PipelineError(f"Stage '{node.name}' ({node.location}): {judgement.sentence}", **PASSING) from error
        passes = PASSING if prospect(error) is Prospect.PASSES or passes_in_java(str(error)) else {}
        why = reason(error) if isinstance(error, JavaError) else f"{type(error).__name__}: {error}"
        raise PipelineError(f"Stage '{node.name}' ({node.location}) failed in its own function: {why}", **passes) from error


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
        why = f"{type(error).__name__}: {first_line(error)}"
        if isinstance(error, PermissionError) and error.filename is not None:
            why = may_not_open(str(error.filename))
        message = f"Sink '{node.name}' ({node.location}) could not write an epoch: {why}"
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
    return reason(error)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's own text, without Spark's ``[ERROR_CLASS]``, ``SQLSTATE`` and advice on ANSI mode."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if text.startswith("[") and "] " in text:
        text = text.split("] ", 1)[1]
    return without_advice(text.split(" SQLSTATE:")[0]).strip().rstrip(" .;") + "."


def reason(error: BaseException) -> str:
    """Return what went wrong, in one line: its cause, without the errors that came of it."""
    if isinstance(error, PitstopError):
        return error.message
    evidence = Evidence(error)
    judgement = judge(evidence)
    if not isinstance(error, (PySparkException, JavaError)) and (judgement is None or judgement.cause.phase is not Phase.READING):
        return first_line(error)
    words = judgement.sentence if judgement is not None else last_words(evidence)
    return words.rstrip(" .;") + "."


def misses_files(error: BaseException) -> bool:
    """True if Spark found no files where some are to be read."""
    return any(isinstance(one, PySparkException) and one.getCondition() in _NO_FILES for one in causes(error))


def explain(
    error: BaseException,
    cause: BaseException | None,
    nodes: Iterable[Node] = (),
    layouts: Mapping[str, StateLayout] | None = None,
    sink: Node | None = None,
    operators: Iterable[str] = (),
    what: str = "An epoch",
    scratch: Path | None = None,
) -> PitstopError:
    """Return a failed query's error as one sentence; the whole text of Spark's error goes into ``details['trace']``.

    ``cause`` is the error that our own callback raised in the query, if it did. ``nodes`` are the stages whose expressions may
    have failed, ``layouts`` the layouts of their state, ``operators`` the stage of each operator with state, and ``sink`` the
    sink that was being written. ``what`` has failed. ``scratch`` is the folder on this machine for what Spark shuffles.
    """
    trace = str(error)
    evidence = Evidence(error, cause, tuple(nodes), layouts or {}, sink, tuple(operators), scratch)
    judgement = judge(evidence)
    if judgement is not None:
        return EngineError(f"{what} {_FAILED[judgement.cause.phase]}{judgement.sentence}", trace=trace, **judgement.cause.details)
    if isinstance(cause, PitstopError):
        cause.details.setdefault("trace", trace)
        return cause
    words = last_words(evidence)
    if sink is not None and isinstance(cause, (PySparkException, JavaError)):
        return EngineError(f"{what} failed as sink '{sink.name}' ({sink.location}) took its rows: {words}", trace=trace)
    if cause is not None and not isinstance(cause, EpochBoundaryError):
        return EngineError(f"{what} failed: {words.rstrip(' .;')}.", trace=trace)
    return EngineError(f"The query failed: {words}", trace=trace)


def explain_task(error: Exception) -> PitstopError:
    """Return an error of a task that Spark does for somebody who waits for it, in the words of its cause."""
    if isinstance(error, PitstopError):
        return error
    words = reason(error) if isinstance(error, (PySparkException, JavaError)) else f"{type(error).__name__}: {error}"
    return EngineError(words, trace="".join(traceback.format_exception(error)))


def explain_run(error: Exception) -> Exception:
    """Return the error that kept a run from starting or going on, in the words of its cause.

    The details of the error say ``away`` or ``restartable`` if its job is not at fault. Errors of Pitstop's and of the job's own
    code stay as they are.
    """
    if isinstance(error, PitstopError) and (error.details.get("restartable") or is_of_the_machine(error)):
        return error
    evidence = Evidence(error)
    judgement = judge(evidence)
    trace = "".join(traceback.format_exception(error))
    if judgement is not None and (judgement.cause.details or not isinstance(error, PitstopError)):
        begins = _RUN_FAILED.get(judgement.cause.phase, _RUN_FAILED[Phase.ANY])
        return EngineError(f"{begins}{judgement.sentence}", trace=trace, **judgement.cause.details)
    if isinstance(error, (PySparkException, JavaError)):
        return EngineError(f"The run could not go on: {last_words(evidence)}", trace=trace)
    return error


def in_short(error: Exception) -> Exception:
    """Return what :func:`explain_run` does, to be raised where a user's own program sees it.

    Python then prints no trace of Spark's or ours, which is among its details. An error of the user's own code stays its cause,
    with its trace.
    """
    in_words = explain_run(error)
    if in_words is not error:
        in_words.__cause__ = error
    if isinstance(in_words, PitstopError) and isinstance(in_words.__cause__, (PySparkException, JavaError)):
        in_words.details.setdefault("trace", "".join(traceback.format_exception(error)))
        in_words.__cause__ = None  # and Python shows nothing in its place
        return in_words.with_traceback(None)
    return in_words


def ended_at_boundary(error: BaseException) -> bool:
    """True if a query ended because it was stopped between two epochs."""
    return EpochBoundaryError.__name__ in str(error)
