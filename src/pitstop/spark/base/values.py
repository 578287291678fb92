"""Values of Arrow as values of Python, times beyond Python's years (1 to 9999) as text."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def python_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table as dicts."""
    try:
        rows: list[dict[str, Any]] = table.to_pylist()
    except (OverflowError, ValueError):
        columns = [[value_of(scalar) for scalar in column] for column in table.columns]
        return [dict(zip(table.column_names, values, strict=True)) for values in zip(*columns, strict=True)]
    return rows


def value_of(scalar: Any) -> Any:
    """Return the Python value of an Arrow scalar: a dict for a struct, a list for a list."""
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        pass
    if isinstance(scalar, pa.StructScalar):
        return {name: value_of(part) for name, part in scalar.items()}
    if isinstance(scalar, pa.ListScalar | pa.LargeListScalar):
        return [value_of(part) for part in scalar.values]
    if isinstance(scalar, pa.TimestampScalar):
        scalar = scalar.cast(pa.timestamp(scalar.type.unit))  # in UTC, as Spark's are
    return scalar.cast(pa.string()).as_py()
