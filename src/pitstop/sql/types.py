"""Types of columns: as statements write them, and as Spark calls them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from pitstop.errors import UsageError
from pitstop.sql.places import Word

SPARK_TYPES = {
    "BOOLEAN": "boolean",
    "TINYINT": "tinyint",
    "SMALLINT": "smallint",
    "INT": "int",
    "INTEGER": "int",
    "BIGINT": "bigint",
    "REAL": "float",
    "FLOAT": "float",
    "DOUBLE": "double",
    "VARCHAR": "string",
    "STRING": "string",
    "CHAR": "string",
    "JSON": "string",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "BINARY": "binary",
    "VARBINARY": "binary",
}
"""Type in a statement -> Spark's name of it. Timestamps are moments, in UTC where they have no zone of their own."""
DECIMALS = ("DECIMAL", "DEC", "NUMERIC")
USUAL_DECIMAL = (38, 18)
MOST_DIGITS = 38


def plain_type(name: Word, numbers: Sequence[int], zoned: bool) -> str:
    """Return Spark's name of a type without parts; UsageError, with its place, for an unknown one."""
    plain = name.text.upper()
    if plain in DECIMALS and not zoned and len(numbers) <= len(USUAL_DECIMAL):
        digits, scale = numbers if len(numbers) == len(USUAL_DECIMAL) else (numbers[0], 0) if numbers else USUAL_DECIMAL
        if not 0 <= scale <= digits <= MOST_DIGITS or digits == 0:
            raise UsageError(name.place.prefix + f"A decimal has 1 to {MOST_DIGITS} digits, and at most as many behind the point")
        return f"decimal({digits},{scale})"
    if plain in ("VARCHAR", "CHAR") and numbers:
        raise UsageError(name.place.prefix + f"{plain} has no length here: texts are as long as they are")
    if plain not in SPARK_TYPES or numbers or (zoned and plain != "TIMESTAMP"):
        raise UsageError(
            name.place.prefix + f"There is no type {name.text}: types are {', '.join(sorted({*SPARK_TYPES, 'DECIMAL'}))}"
        )
    return SPARK_TYPES[plain]


def composed_type(name: Word, parts: Sequence[str | tuple[str, str]]) -> str:
    """Return Spark's name of an array, a map or a struct of (name, type); UsageError, with its place, for anything else."""
    outer, fields = name.text.upper(), [part for part in parts if not isinstance(part, str)]
    plain = [part for part in parts if isinstance(part, str)]
    if outer == "STRUCT" and not plain:
        return f"struct<{','.join(f'{quoted(field)}:{type_}' for field, type_ in fields)}>"
    if not fields and (outer, len(plain)) in (("ARRAY", 1), ("MAP", 2)):
        return f"{outer.lower()}<{','.join(plain)}>"
    raise UsageError(name.place.prefix + "Types with parts are ARRAY<type>, MAP<type, type> and STRUCT<name: type, ...>")


def nested(spark: str) -> int:
    """Return the number of types with parts that are within one another in a type of Spark."""
    depth = most = 0
    for letter in re.sub("`[^`]*`", "", spark):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        most = max(most, depth)
    return most


def shown_type(spark: str) -> str:
    """Return a type of Spark as results tell it: in capital letters, but for the names of fields."""
    return spark.upper() if "struct<" not in spark else exp.DataType.build(spark, dialect="spark").sql(dialect="spark")


def quoted(column: str) -> str:
    """Return a name as Spark's SQL takes it, with any letters in it."""
    return "`" + column.replace("`", "``") + "`"
