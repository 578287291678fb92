"""Reads statements from a text (grammar.lark)."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken, v_args
from lark.exceptions import VisitError

from pitstop.errors import PitstopError, UsageError
from pitstop.sql.mappings import Column, Mapping, Named, View
from pitstop.sql.options import options_of_job, options_to_alter
from pitstop.sql.places import Place, Word
from pitstop.sql.statements import (
    AlterJob,
    CheckJob,
    CreateJob,
    CreateMapping,
    CreateSnapshot,
    CreateView,
    DescribeJob,
    Drop,
    DropJob,
    DropSnapshot,
    ExplainJob,
    Insert,
    JobVerb,
    Query,
    Show,
    Shown,
    Statement,
    UpdateJob,
    Writing,
)
from pitstop.sql.types import composed_type, nested, plain_type

MOST_LETTERS = 1 << 20
MOST_NESTED = 100
"""The most types within one another. A statement that is kept can be read again anywhere."""
_TOO_DEEP = "The text is nested too deeply"
SCHEMA = "public"
"""The only schema."""
NAMES = {
    "NAME": "a name",
    "QUOTED": '"a name"',
    "JOB_ID": "the id of a job",
    "TEXT": "'a text'",
    "SEMICOLON": ";",
    "LPAR": "(",
    "RPAR": ")",
    "COMMA": ",",
    "EQUAL": "=",
    "$END": "the end",
    "NUMBER": "a number",
    "LESSTHAN": "<",
    "MORETHAN": ">",
    "COLON": ":",
    "DOT": ".",
    "QUERY": "SELECT",
}
"""Terminal of the grammar -> its name in messages; keywords are called as they are written."""


_NO_CONNECTIONS = "There are no data connections: each mapping says in its OPTIONS where its rows are"
_NO_TYPES = "There are no types with names of their own: a value with parts is a STRUCT<name: type, ...>"
NOT_HERE = {
    "TYPE": _NO_TYPES,
    "TYPES": _NO_TYPES,
    "DATA": _NO_CONNECTIONS,
    "RESOURCES": _NO_CONNECTIONS,
}
"""The word that begins a statement of Jet which is missing here -> the sentence that refuses it."""


def parse(text: str, bounded: bool = True) -> list[Statement]:
    """Return the statements of a text, one after the other. ``bounded``: True if its queries have a largest size.

    UsageError, with the place of the error and what could stand there instead, if any statement is wrong. None is carried
    out then.
    """
    if len(text) > MOST_LETTERS:
        raise UsageError(f"A text of statements has at most {MOST_LETTERS:,} letters.")
    try:
        tree = parser().parse(text)
        return list(_Statements(text, bounded).transform(tree))
    except UnexpectedInput as error:
        raise UsageError(_message(text, error)) from None
    except VisitError as error:
        if isinstance(error.orig_exc, PitstopError):
            raise error.orig_exc from None
        if isinstance(error.orig_exc, RecursionError):
            raise UsageError(_TOO_DEEP) from None
        raise
    except RecursionError:
        raise UsageError(_TOO_DEEP) from None


def named(text: str) -> Named:
    """Return the mapping or view that one CREATE statement makes."""
    (statement,) = parse(text)
    assert isinstance(statement, (CreateMapping, CreateView))
    return statement.mapping if isinstance(statement, CreateMapping) else statement.view


@functools.cache
def parser() -> Lark:
    """Return the parser of the grammar, which is read once."""
    grammar = files("pitstop.sql").joinpath("grammar.lark").read_text()
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def _message(text: str, error: UnexpectedInput) -> str:
    if isinstance(error, UnexpectedToken):
        token = error.token
        fragment, terminals = f"'{token}'" if token.type != "$END" else "the end", error.accepts or error.expected
        place = _place(token) if token.type != "$END" else _end(text)
    else:
        assert isinstance(error, UnexpectedCharacters)
        fragment, terminals = f"'{error.char}'", error.allowed or set()
        place = Place(error.line, error.column, error.line, error.column)
    not_here = NOT_HERE.get(fragment.strip("'").upper())
    if not_here is not None and terminals & {"MAPPINGS", "_MAPPING", "_TYPE"}:
        return place.prefix + not_here
    choices = " or ".join(sorted(NAMES.get(name, name.removeprefix("_")) for name in terminals))
    return f"{place.prefix}Encountered {fragment}, expected {choices}"


def _end(text: str) -> Place:
    lines = text.split("\n")
    return Place(len(lines), len(lines[-1]) + 1, len(lines), len(lines[-1]) + 1)


def _place(token: Token) -> Place:
    line, column, end_line, end_column = token.line, token.column, token.end_line, token.end_column
    assert line is not None
    assert column is not None
    assert end_line is not None
    assert end_column is not None
    return Place(line, column, end_line, end_column - 1)


def _word(token: Token) -> Word:
    text = str(token)
    if text[0] in "'\"":
        text = text[1:-1].replace(text[0] * 2, text[0])
    return Word(text, _place(token))


_Options = list[tuple[Word, Word]]


@v_args(inline=True)
class _Statements(Transformer[Token, Any]):
    def __init__(self, text: str, bounded: bool) -> None:
        super().__init__()
        self._text, self._bounded = text, bounded

    def start(self, *statements: Statement | None) -> Iterable[Statement]:
        return [each for each in statements if each is not None]

    def show(self, what: Token) -> Show:
        return Show(Shown(what.type))

    # jobs

    def alter_job(self, job: Word, pairs: _Options | None, verb: Token | None) -> AlterJob:
        if pairs is None and verb is None:
            raise UsageError(job.place.prefix + "ALTER JOB needs SUSPEND, RESUME, RESTART or OPTIONS after the job")
        if pairs is not None and verb is not None and verb.type != JobVerb.RESUME:
            raise UsageError(_place(verb).prefix + "Options can only be specified for RESUME operation")
        return AlterJob(job.text, options_to_alter(pairs or ()), JobVerb(verb.type) if verb is not None else None)

    def drop_job(self, if_exists: bool | None, job: Word, snapshot: Word | None) -> DropJob:
        return DropJob(job.text, bool(if_exists), snapshot.text if snapshot is not None else None)

    def create_job(
        self, replace: Token | None, unless: bool | None, name: Word, pairs: _Options | None, body: tuple[Insert, ...]
    ) -> CreateJob:
        if replace:
            raise UsageError(name.place.prefix + "OR REPLACE is not supported for CREATE JOB")
        return CreateJob(name.text, options_of_job(pairs or ()), body, bool(unless))

    def explain_job(self, job: Word) -> ExplainJob:
        return ExplainJob(job.text)

    def describe_job(self, job: Word) -> DescribeJob:
        return DescribeJob(job.text)

    def check_job(self, job: Word, pairs: _Options | None, body: tuple[Insert, ...]) -> CheckJob:
        return CheckJob(job.text, options_of_job(pairs or ()), body)

    def update_job(self, job: Word, pairs: _Options | None, body: tuple[Insert, ...]) -> UpdateJob:
        return UpdateJob(job.text, options_of_job(pairs or ()), body)

    def body(self, *inserts: Insert) -> tuple[Insert, ...]:
        return inserts

    def insert(self, writing: Token, mapping: Word, columns: list[str] | None, query: Token) -> Insert:
        parsed_query = Query(str(query).rstrip(), _place(query), self._bounded)
        start, end = writing.start_pos, query.end_pos
        text = self._text[start:end].rstrip()
        return Insert(Writing(writing.type), mapping.text, mapping.place, tuple(columns) if columns else None, parsed_query, text)

    def select(self, query: Token) -> Query:
        return Query(str(query).rstrip(), _place(query), self._bounded)

    # snapshots

    def create_snapshot(self, replace: bool | None, name: Word, job: Word) -> CreateSnapshot:
        if not replace:
            raise UsageError(name.place.prefix + "The OR REPLACE option is required for CREATE SNAPSHOT")
        return CreateSnapshot(name.text, job.text)

    def drop_snapshot(self, if_exists: bool | None, name: Word) -> DropSnapshot:
        return DropSnapshot(name.text, bool(if_exists))

    # mappings and views

    def create_mapping(
        self, replace: bool | None, unless: bool | None, name: Word, external: str | None, *rest: Any
    ) -> CreateMapping:
        *columns, connector, pairs = rest
        _refuse_both(replace, unless, name)
        distinct_columns: list[Column] = []
        for word, column in (each for each in columns if each is not None):
            if any(column.name == other.name for other in distinct_columns):
                raise UsageError(word.place.prefix + f"Column '{column.name}' specified more than once")
            distinct_columns.append(column)
        options: dict[str, str] = {}
        for key, value in pairs or ():
            if key.text in options:
                raise UsageError(key.place.prefix + f"Option '{key.text}' specified more than once")
            options[key.text] = value.text
        mapping = Mapping(name.text, connector.text, tuple(distinct_columns), options, external)
        return CreateMapping(mapping, bool(replace), bool(unless))

    def drop_mapping(self, if_exists: bool | None, name: Word) -> Drop:
        return Drop(Mapping, name.text, bool(if_exists))

    def create_view(self, replace: bool | None, unless: bool | None, name: Word, query: Token) -> CreateView:
        _refuse_both(replace, unless, name)
        return CreateView(View(name.text, str(query).rstrip()), _place(query), bool(replace), bool(unless))

    def drop_view(self, if_exists: bool | None, name: Word) -> Drop:
        return Drop(View, name.text, bool(if_exists))

    def column(self, name: Word, type_: str, external: str | None) -> tuple[Word, Column]:
        if nested(type_) > MOST_NESTED:
            raise UsageError(name.place.prefix + f"Types are nested {MOST_NESTED} times at most")
        return name, Column(name.text, type_, external)

    def external(self, name: Word) -> str:
        return name.text

    def type(self, name: Token, *rest: Any) -> str:
        # With numbers, or with parts: the latter have no zone.
        if any(isinstance(each, (str, tuple)) and not isinstance(each, Token) for each in rest):
            return composed_type(_word(name), rest)
        numbers = [int(each) for each in rest if isinstance(each, Token)]
        return plain_type(_word(name), numbers, any(each is True for each in rest))

    def field(self, name: Token, type_: str) -> tuple[str, str]:
        return _word(name).text, type_

    def zone(self) -> bool:
        return True

    # parts

    def if_exists(self) -> bool:
        return True

    def if_not_exists(self) -> bool:
        return True

    def or_replace(self) -> bool:
        return True

    def options(self, *pairs: tuple[Word, Word] | None) -> _Options:
        return [each for each in pairs if each is not None]

    def option(self, key: Token, value: Token) -> tuple[Word, Word]:
        return _word(key), _word(value)

    def columns(self, *names: Word) -> list[str]:
        return [name.text for name in names]

    def job(self, token: Token) -> Word:
        return _word(token)

    def name(self, token: Token) -> Word:
        return _word(token)

    def in_schema(self, schema: Word | None, name: Word) -> Word:
        if schema is not None and schema.text != SCHEMA:
            raise UsageError(schema.place.prefix + f'The mapping must be created in the "{SCHEMA}" schema')
        return name


def _refuse_both(replace: bool | None, unless: bool | None, name: Word) -> None:
    if replace and unless:
        raise UsageError(name.place.prefix + "OR REPLACE in conjunction with IF NOT EXISTS not supported")
