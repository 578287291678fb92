"""Steps of columns and rows: rename, drop, explode and split."""

from __future__ import annotations

from collections import Counter

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType

from pitstop.errors import PipelineError
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.row_specs import DropSpec, ExplodeSpec, RenameSpec, SplitSpec
from pitstop.spark.base.columns import to_column
from pitstop.spark.base.naming import quoted
from pitstop.spark.lowering.window import check_columns

_ENTRY = ("key", "value")


def lower_rename(node: Node, spec: RenameSpec, frame: DataFrame) -> DataFrame:
    """Return the rows with other names of columns."""
    check_columns(node, frame, tuple(spec.columns))
    names = {column: spec.columns.get(column, column) for column in frame.columns}
    check_once(node, list(names.values()))
    return frame.select(*[F.col(quoted(column)).alias(name) for column, name in names.items()])


def lower_drop(node: Node, spec: DropSpec, frame: DataFrame) -> DataFrame:
    """Return the rows without some columns."""
    check_columns(node, frame, spec.columns)
    rest = [F.col(quoted(column)) for column in frame.columns if column not in spec.columns]
    if not rest:
        raise PipelineError(f"Stage '{node.name}' ({node.location}) drops all columns: keep one.")
    return frame.select(*rest)


def lower_explode(node: Node, spec: ExplodeSpec, frame: DataFrame) -> DataFrame:
    """Return a row for each element of an array or entry of a map, behind or in the place of the columns that are there."""
    plain = spec.column if isinstance(spec.column, str) and spec.column in frame.columns else None
    column = to_column(frame, spec.column)
    (field,) = frame.select(column).schema.fields
    if not isinstance(field.dataType, (ArrayType, MapType)):
        raise PipelineError(
            f"Stage '{node.name}' ({node.location}): {field.name} is {field.dataType.simpleString()}, and explode takes an "
            "array or a map."
        )
    names = _names(node, spec, plain, isinstance(field.dataType, MapType))
    columns: list[Column] = [F.col(quoted(name)) for name in frame.columns]
    exploded = (F.explode_outer if spec.keep_empty else F.explode)(column).alias(*names)
    if plain is None:
        columns.append(exploded)
    else:
        columns[frame.columns.index(plain)] = exploded
    result = frame.select(*columns)
    check_once(node, result.columns)
    return result


def lower_split(node: Node, spec: SplitSpec, frame: DataFrame) -> DataFrame:
    """Return the rows of one part of a split."""
    before = [F.coalesce(to_column(frame, each), F.lit(False)) for each in spec.conditions[: spec.part]]
    own = [to_column(frame, each) for each in spec.conditions[spec.part : spec.part + 1]]
    result = frame
    for condition in [*[~each for each in before], *own]:
        result = result.where(condition)
    return result


def _names(node: Node, spec: ExplodeSpec, plain: str | None, entries: bool) -> tuple[str, ...]:
    names = spec.into or (_ENTRY if entries else (plain,) if plain is not None else ())
    if len(names) == (2 if entries else 1):
        return names
    if not names:
        raise PipelineError(f"Stage '{node.name}' ({node.location}) explodes an expression: name its elements with into='...'.")
    raise PipelineError(
        f"Stage '{node.name}' ({node.location}): " + ("an entry of a map is two columns, key and value" if entries else
        "an element of an array is one column") + f", and into names {len(names)}."
    )  # fmt: skip


def check_once(node: Node, names: list[str]) -> None:
    """Raise PipelineError if two columns have one name, in whatever case: Spark could not tell them apart."""
    for name, count in Counter(map(str.casefold, names)).items():
        if count > 1:
            raise PipelineError(f"Stage '{node.name}' ({node.location}) makes two columns '{name}': rename one.")
