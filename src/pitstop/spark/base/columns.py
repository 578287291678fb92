"""Columns as users give them, and Spark's errors about them in a sentence that names the stage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pitstop.errors import PipelineError, PitstopError
from pitstop.pipeline.nodes import Node
from pitstop.spark.base.naming import quoted


def to_column(frame: DataFrame, value: Any) -> Column:
    """A column name of the frame, a SQL expression, or a Spark Column."""
    if isinstance(value, str):
        return F.col(quoted(value)) if value in frame.columns else F.expr(value)
    return value


@contextmanager
def errors_of_stage(node: Node, frame: DataFrame | None = None) -> Iterator[None]:
    """Turn Spark's refusal of a stage into one sentence with the stage's name and place."""
    try:
        yield
    except PitstopError:
        raise
    except PySparkException as error:
        raise PipelineError(f"Stage '{node.name}' ({node.location}): {sentence(error, frame)}") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise PipelineError(f"Stage '{node.name}' ({node.location}) failed in its own function: {reason}") from error


def sentence(error: PySparkException, frame: DataFrame | None) -> str:
    """Spark's message without its error class, plan and SQLSTATE."""
    condition = error.getCondition() or ""
    parameters = error.getMessageParameters() or {}
    if condition.startswith("UNRESOLVED_COLUMN"):
        name = str(parameters.get("objectName", "")).replace("`", "")
        have = f" There are: {', '.join(frame.columns)}." if frame is not None else ""
        return f"there is no column '{name}'.{have}"
    if isinstance(error, ParseException):
        return f"cannot read the expression: {first_line(error)}"
    if isinstance(error, AnalysisException) or condition:
        return first_line(error)
    return first_line(error)


def first_line(error: BaseException) -> str:
    """The first line of Spark's text, without ``[ERROR_CLASS]`` and ``SQLSTATE``."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if text.startswith("[") and "] " in text:
        text = text.split("] ", 1)[1]
    return text.split(" SQLSTATE:")[0].rstrip(" .;") + "."
