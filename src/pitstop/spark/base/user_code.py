"""The stage whose Python function raised an error in a process of Spark, as far as its trace tells."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from types import CodeType, FunctionType
from typing import Any

from pyspark.sql import Column

from pitstop.pipeline.nodes import Node
from pitstop.spark.base.raised import Frame, Raised

_NOT_OF_USERS = ("pyspark", "pyspark.zip", "py4j", "pitstop", "site-packages", "dist-packages")
"""Parts of the paths of code that no user wrote."""


def raised_by_function(raised: Raised, nodes: Iterable[Node]) -> str | None:
    """Return text such as ``stage 's' (job.py:5), function f (job.py, line 3)``; None if no user's function raised the error."""
    own = [frame for frame in raised.frames if not set(PurePath(frame.file).parts) & set(_NOT_OF_USERS)]
    if not own:
        return None
    place = f"function {own[-1].function} ({PurePath(own[-1].file).name}, line {own[-1].line})"
    nodes = tuple(nodes)
    stages = [node for node in nodes if any(_within(frame, code) for code in _codes(node.spec) for frame in own)]
    stages = stages or [node for node in nodes if any(_called(frame, node.spec) for frame in own)]
    names = " or ".join(f"stage '{node.name}' ({node.location})" for node in stages)
    return f"{names}, {place}" if names else place


def _within(frame: Frame, code: CodeType) -> bool:
    """Return True if a line of a trace is one of this function, or of one that is defined in it."""
    if PurePath(code.co_filename).name != PurePath(frame.file).name:
        return False
    own = frame.function == code.co_name and any(line == frame.line for _, _, line in code.co_lines())
    return own or any(_within(frame, part) for part in code.co_consts if isinstance(part, CodeType))


def _codes(value: Any, depth: int = 3) -> Iterator[CodeType]:
    """Yield the functions in the fields of a stage."""
    if depth < 0 or value is None or isinstance(value, (str, bytes, int, float, Column)):
        return
    if isinstance(value, functools.partial):
        yield from _codes(value.func, depth)
    elif isinstance(getattr(value, "__code__", None), CodeType):
        yield value.__code__
        yield from _codes(getattr(value, "__wrapped__", None), depth - 1)
    elif isinstance(value, Mapping):
        yield from (code for part in value.values() for code in _codes(part, depth))
    elif isinstance(value, (tuple, list)):
        yield from (code for part in value for code in _codes(part, depth))
    elif isinstance(value, type):
        yield from (part.__code__ for part in vars(value).values() if isinstance(part, FunctionType))
    else:
        yield from _codes(type(value))
        yield from (code for part in getattr(value, "__dict__", {}).values() for code in _codes(part, depth - 1))


def _called(frame: Frame, value: Any) -> bool:
    """Return True if an expression of a stage calls the function of a line of a trace."""
    if isinstance(value, (Column, str)):
        return f"{frame.function}(" in str(value)
    if isinstance(value, Mapping):
        return any(_called(frame, part) for part in value.values())
    if isinstance(value, (tuple, list)):
        return any(_called(frame, part) for part in value)
    return hasattr(value, "op") and _called(frame, list(vars(value).values()))
