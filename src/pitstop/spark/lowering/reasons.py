"""Reasons why a text is no row: the columns that cannot be read, with their texts. They are computed for such texts alone."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructField, StructType

from pitstop.spark.base.naming import quoted
from pitstop.spark.base.text_formats import CORRUPT, lenient_options, reading_options

_TEXTS, _VALUES = "__texts", "__values"
"""Columns beside a bad row: all its fields as texts, and those that can be read as values."""
_MOST_OF_FIELD, _MOST_OF_TEXT, _MOST_OF_TYPE = 40, 100, 60
"""The most characters of a field, a text and a type in a reason."""
_NOT_OF_PARSERS = ("charset", "encoding", "mode", "columnnameofcorruptrecord")
"""Options of readers, in lower case, that are not those of a parser of texts, or are chosen here."""


def with_fields(bad: DataFrame, form: str, text: str, columns: StructType, user: Mapping[str, str]) -> DataFrame:
    """Return the bad rows with columns that :func:`reason` needs.

    They stand in a projection of their own, so that Spark computes them once for each row.
    """
    texts = StructType([StructField(field.name, StringType()) for field in columns.fields])
    if form == "json":
        return bad.withColumn(_TEXTS, _from_json(text, texts, user))
    options = _options(lenient_options("csv", columns, dict(user)) or reading_options("csv", columns, dict(user)))
    return bad.withColumns({_TEXTS: _from_csv(text, texts, options), _VALUES: _from_csv(text, columns, options)})


def reason(form: str, text: str, columns: StructType, user: Mapping[str, str], otherwise: str) -> Column:
    """Return why the text of a bad row is none of these columns; ``otherwise`` if no single column is to blame."""
    wrong = [_wrong(form, text, field, user) for field in columns.fields if not isinstance(field.dataType, StringType)]
    sentences = F.concat_ws(" ", *wrong) if wrong else F.lit("")
    whole = F.col(f"{_TEXTS}.{CORRUPT}").isNull()
    other = F.when(whole & (sentences != F.lit("")), sentences)
    if form == "json":
        no_object = F.concat(F.lit("This is no JSON object: "), _short(F.col(text), _MOST_OF_TEXT))
        other = F.coalesce(other, F.when(~whole, no_object))
    return F.coalesce(other, F.lit(otherwise))


def _wrong(form: str, text: str, field: StructField, user: Mapping[str, str]) -> Column:
    """Return a sentence about a column if its text cannot be read; otherwise null."""
    field_text = F.col(f"{_TEXTS}.{quoted(field.name)}")
    if form == "json":
        # Of a nested column Spark keeps the parts that it can read, so its value does not tell.
        cannot_be_read = _from_json(text, StructType([field]), user).getField(CORRUPT).isNotNull()
    else:
        cannot_be_read = F.col(f"{_VALUES}.{quoted(field.name)}").isNull()
    sentence = F.concat(F.lit(f"{field.name}: '"), _short(field_text, _MOST_OF_FIELD), F.lit(f"' is no {_type(field.dataType)}."))
    return F.when(field_text.isNotNull() & cannot_be_read, sentence)


def _type(kind: DataType) -> str:
    name = kind.simpleString()
    return name if len(name) <= _MOST_OF_TYPE else f"{name[:_MOST_OF_TYPE]}…"


def _short(text: Column, most: int) -> Column:
    return F.when(F.length(text) > most, F.concat(F.substring(text, 1, most), F.lit("…"))).otherwise(text)


def _from_json(text: str, columns: StructType, user: Mapping[str, str]) -> Column:
    return F.from_json(text, _with_corrupt(columns), _options(user))


def _from_csv(text: str, columns: StructType, options: dict[str, str]) -> Column:
    ddl = ", ".join(f"{quoted(field.name)} {field.dataType.simpleString()}" for field in _with_corrupt(columns).fields)
    return F.from_csv(text, ddl, options)


def _with_corrupt(columns: StructType) -> StructType:
    return StructType([*columns.fields, StructField(CORRUPT, StringType())])


def _options(user: Mapping[str, str]) -> dict[str, str]:
    own = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    return {name: value for name, value in user.items() if name.lower() not in _NOT_OF_PARSERS} | own
