"""Titles of stages to which the user gave no name: the kind of stage and the columns or function that it is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import Any

from pitstop.pipeline.names import text_of
from pitstop.pipeline.row_specs import DropSpec, ExplodeSpec, FilterByFunctionSpec, FlatMapSpec, RenameSpec, SplitSpec
from pitstop.pipeline.specs import FilterSpec, MergeSpec, SelectSpec, Spec, TransformSpec, WithColumnsSpec

_LONGEST = 48
"""The length at which a title takes in no further word."""
_SQL_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_SQL_WORD = re.compile(r"[^\W\d]\w*(?!\w|\s*\()")
_SQL_NAME = re.compile(r"(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>\w+))\s*$")
_SQL_WORDS = {
    *("all", "and", "as", "asc", "between", "by", "case", "cast", "date", "day", "desc", "distinct", "div", "else", "end"),
    *("escape", "exists", "false", "hour", "ilike", "in", "interval", "is", "like", "minute", "month", "not", "null", "or"),
    *("over", "regexp", "rlike", "second", "then", "timestamp", "true", "when", "year"),
}
"""Words of SQL that are no columns, or seldom."""


def title(spec: Spec, inputs: Sequence[str] = ()) -> str:
    """Return a name for a stage, which another stage may have already. ``inputs`` are the names of its inputs.

    Stages whose names are kept beside their state or their rows have the names of their kinds, as in each release before.
    """
    return _joined(spec.op, _words(spec, inputs))


@singledispatch
def _words(spec: Spec, inputs: Sequence[str]) -> Iterable[str]:
    """Return the words of a title behind the kind."""
    return ()


@_words.register
def _of_select(spec: SelectSpec, inputs: Sequence[str]) -> Iterable[str]:
    return map(_result, spec.columns)


@_words.register
def _of_filter(spec: FilterSpec, inputs: Sequence[str]) -> Iterable[str]:
    return _columns_in(spec.condition)


@_words.register
def _of_with_columns(spec: WithColumnsSpec, inputs: Sequence[str]) -> Iterable[str]:
    return spec.columns


@_words.register
def _of_transform(spec: TransformSpec, inputs: Sequence[str]) -> Iterable[str]:
    return _function(spec.function)


@_words.register
def _of_map(spec: FlatMapSpec, inputs: Sequence[str]) -> Iterable[str]:
    return _function(spec.function)


@_words.register
def _of_filter_by_function(spec: FilterByFunctionSpec, inputs: Sequence[str]) -> Iterable[str]:
    return _function(spec.function)


@_words.register
def _of_merge(spec: MergeSpec, inputs: Sequence[str]) -> Iterable[str]:
    return inputs


@_words.register
def _of_rename(spec: RenameSpec, inputs: Sequence[str]) -> Iterable[str]:
    return spec.columns.values()


@_words.register
def _of_drop(spec: DropSpec, inputs: Sequence[str]) -> Iterable[str]:
    return spec.columns


@_words.register
def _of_explode(spec: ExplodeSpec, inputs: Sequence[str]) -> Iterable[str]:
    return spec.into or (_result(spec.column),)


@_words.register
def _of_split(spec: SplitSpec, inputs: Sequence[str]) -> Iterable[str]:
    rest = spec.part == len(spec.conditions)
    return ("rest",) if rest else _columns_in(spec.conditions[spec.part])


def _function(function: Any) -> Iterable[str]:
    name = getattr(function, "__name__", "")
    return () if name == "<lambda>" else (name,)


def _result(expression: Any) -> str:
    """Return the name of the column that an expression gives, as far as its text tells; else its first column."""
    text = text_of(expression) or ""
    match = _SQL_NAME.search(text)
    if match is not None:
        return match["quoted"] or match["plain"]
    return next(iter(_columns_in(expression)), "")


def _columns_in(expression: Any) -> list[str]:
    """Return the columns that an expression names."""
    text = _SQL_TEXT.sub("", text_of(expression) or "")
    return [word for word in _SQL_WORD.findall(text) if word.casefold() not in _SQL_WORDS]


def _joined(op: str, words: Iterable[str]) -> str:
    """Return the kind and the words with blanks between them, without signs that no name may have, and not too long."""
    result = op
    plain = (" ".join(re.findall(r"[\w-]+", word)) for word in words)
    for word in dict.fromkeys(each for each in plain if each):
        if len(result) + len(word) >= _LONGEST:
            break
        result += f" {word}"
    return result
