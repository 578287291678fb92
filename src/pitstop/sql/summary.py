"""Sums up a statement in one line for the audit: its verb and its object, in the words of the language."""

from __future__ import annotations

from typing import assert_never

from pitstop.sql.mappings import Mapping
from pitstop.sql.names import tables_of
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
    Query,
    Show,
    Statement,
    UpdateJob,
)


def summary(statement: Statement) -> str:
    """Return a line such as ``DROP JOB speeds WITH SNAPSHOT monday``, without options' values, conditions and rows: they may be
    secret."""
    match statement:
        case AlterJob():
            options = " OPTIONS" if statement.options else ""
            return f"ALTER JOB {statement.job}{options}" + (f" {statement.verb.value}" if statement.verb is not None else "")
        case DropJob():
            return f"DROP JOB {statement.job}" + (f" WITH SNAPSHOT {statement.snapshot}" if statement.snapshot else "")
        case CreateJob():
            return f"CREATE JOB {statement.name}"
        case UpdateJob():
            return f"UPDATE JOB {statement.job}"
        case CheckJob():
            return f"CHECK JOB {statement.job}"
        case ExplainJob():
            return f"EXPLAIN JOB {statement.job}"
        case DescribeJob():
            return f"DESCRIBE JOB {statement.job}"
        case CreateSnapshot():
            return f"CREATE SNAPSHOT {statement.name} FOR JOB {statement.job}"
        case DropSnapshot():
            return f"DROP SNAPSHOT {statement.name}"
        case CreateMapping():
            return f"CREATE MAPPING {statement.mapping.name}"
        case CreateView():
            return f"CREATE VIEW {statement.view.name}"
        case Drop():
            return f"DROP {'MAPPING' if statement.what is Mapping else 'VIEW'} {statement.name}"
        case Insert():
            return f"{statement.writing.value} INTO {statement.mapping}"
        case Query():
            tables = ", ".join(sorted(tables_of(statement)))
            return f"SELECT FROM {tables}" if tables else "SELECT"
        case Show():
            return f"SHOW {statement.what.value}"
        case _:
            assert_never(statement)
