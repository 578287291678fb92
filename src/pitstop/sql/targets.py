"""INSERT INTO and SINK INTO: the columns of a mapping that get what a query gives, and their types."""

from __future__ import annotations

from collections.abc import Sequence

from pitstop.errors import UsageError
from pitstop.sql.mappings import KEY, Mapping
from pitstop.sql.relations import Relation
from pitstop.sql.statements import Insert
from pitstop.sql.types import quoted


def written(insert: Insert, mapping: Mapping, relation: Relation) -> list[str]:
    """Return Spark's expressions that make the mapping's columns of a query's; UsageError, with its place, if they do not fit."""
    own = [each for each in relation.columns if not each.aside]
    types = {column.name: column.type for column in mapping.columns}
    targets = targets_of(insert, types, (KEY, *mapping.names("key"))) or [each.name for each in own]
    if len(targets) != len(own):
        message = f"Number of INSERT target columns ({len(targets)}) does not equal number of source items ({len(own)})"
        raise UsageError(insert.query.place.prefix + message)
    if not types:
        return [f"{quoted(each.column)} AS {quoted(name)}" for each, name in zip(own, targets, strict=True)]
    casts = [f"CAST({quoted(each.column)} AS {types[name]}) AS {quoted(name)}" for each, name in zip(own, targets, strict=True)]
    return casts + [f"CAST(NULL AS {kind}) AS {quoted(name)}" for name, kind in types.items() if name not in targets]


def targets_of(insert: Insert, types: dict[str, str], keys: Sequence[str] = (KEY,)) -> list[str]:
    """Return the columns that an INSERT writes, in the order of the query's; empty: the mapping takes any.

    UsageError, with its place, for an unknown column, one that is named twice, and a missing one of ``keys``.
    """
    targets = list(insert.columns if insert.columns is not None else types)
    for number, target in enumerate(targets):
        if types and target not in types:
            raise UsageError(insert.place.prefix + f"Unknown target column '{target}'")
        if target in targets[:number]:
            raise UsageError(insert.place.prefix + f"Target column '{target}' is assigned more than once")
    for key in keys:
        if key in types and key not in targets:
            raise UsageError(insert.place.prefix + f"Column '{key}' needs a value")
    return targets
