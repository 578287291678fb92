"""The state of an old checkpoint, written anew into a checkpoint that this release of Spark has laid down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pitstop.doctor.facts import Operator
from pitstop.errors import EngineError
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.adopting.old_checkpoint import has_identifiers, reading
from pitstop.spark.base.naming import quoted
from pitstop.spark.internals.raw_state import FAMILY, raw_state, raw_state_of_memory, rewrite_state, store_schemas, with_values
from pitstop.spark.internals.settings import IN_MEMORY
from pitstop.spark.restoring.offsets import pretend_to_have_run
from pitstop.spark.state.saved import operator_stores

_DEFAULT = "default"
_COUNTS = "keyToNumValues"


@dataclass
class Moving:
    """State on its way from the view of an old checkpoint, as of ``epoch``, into ``building``, which has done epoch 0."""

    spark: SparkSession
    view: Checkpoint
    epoch: int
    operators: Mapping[int, Operator]
    """The old operators by number."""
    building: Path
    moves: Mapping[int, int]
    """New operator -> old operator."""
    orders: Mapping[int, Mapping[str, tuple[int, ...]]]
    """Old operator -> column family -> the places of its values' fields in the new order, where that is another one."""
    partitions: int
    watermark_ms: int
    """The watermark of the epoch to come."""
    scratch: Path
    rows: dict[int, int] = field(default_factory=dict)
    """New operator -> rows of its state, without those that only count others."""

    def move(self) -> None:
        """Write all state anew, as of epoch 1. EngineError if a row is missing then."""
        checkpoint = Checkpoint(self.building)
        checkpoint.write_offsets(1, checkpoint.offsets(0))
        rewrite_state(self.spark, self.building, 0, 1, self._moved)
        pretend_to_have_run(checkpoint, 1, self.watermark_ms)
        self._check()

    def _moved(self, operator: int, store: str, own: DataFrame) -> DataFrame:
        if operator not in self.moves:
            return own
        state = self._old(self.moves[operator], own)
        columns = [F.col(field.name).cast(field.dataType) for field in own.schema.fields]
        keys = [f"partition_key.{quoted(name)}" for name in own.select("partition_key.*").columns]
        return state.select(*columns).repartition(self.partitions, *keys)

    def _old(self, number: int, form: DataFrame) -> DataFrame:
        """Return all raw state of an old operator: a join of an older form has four stores, which become four column families."""
        stores = self.operators[number].stores
        return reduce(DataFrame.unionByName, [self._of_store(number, store, form) for store in stores])

    def _of_store(self, number: int, store: str, form: DataFrame) -> DataFrame:
        if self.view.provider() == IN_MEMORY:
            state = raw_state_of_memory(self.spark, self.view.path, self.epoch, number, store, store, form)
        else:
            state = self._raw(number, store)
            # Spark's rewriter takes only rows whose column of families may be null, as that of its own reader.
            family = F.when(F.col(FAMILY).isNotNull(), F.lit(store))
            state = state if store == _DEFAULT else state.withColumn(FAMILY, family)
        return self._in_order(state, number, store)

    def _in_order(self, state: DataFrame, number: int, store: str) -> DataFrame:
        """Return raw state of a store with the fields of its values as the new operator has them."""
        orders = self.orders.get(number, {})
        if not orders:
            return state
        schemas = store_schemas(self.spark, self.view.path, number, store, self.view.schema_files(number).get(store, []))
        before = schemas if store == _DEFAULT else {store: schemas[_DEFAULT]}
        new = next(each for each, old in self.moves.items() if old == number)
        built = Checkpoint(self.building)
        after: dict[str, tuple[Any, Any]] = {}
        for own, files in built.schema_files(new).items():
            after |= store_schemas(self.spark, self.building, new, own, files)
        for family in orders.keys() & before.keys():
            state = with_values(self.spark, state, family, (before[family][1], after[family][1]), orders[family])
        return state

    def _raw(self, number: int, store: str) -> DataFrame:
        if not has_identifiers(self.view, self.epoch):
            return raw_state(self.spark, self.view.path, self.epoch, number, store)
        rows = self.scratch / f"{number}-{store}"
        if not rows.exists():
            with reading(self.spark, self.view, self.epoch):
                raw_state(self.spark, self.view.path, self.epoch, number, store).write.parquet(str(rows))
        return self.spark.read.parquet(str(rows))

    def _check(self) -> None:
        """Compare the numbers of rows by column family, and note them."""
        stores = operator_stores(self.spark, self.building)
        for operator, number in self.moves.items():
            for store in stores[operator][1]:
                new = raw_state(self.spark, self.building, 1, operator, store)
                before, after = _counts(self._old(number, new)), _counts(new)
                if before != after:
                    raise EngineError(
                        f"Operator {number} has {sum(before.values()):,} rows of state, and {sum(after.values()):,} have come "
                        "into the snapshot: nothing was adopted; please report this."
                    )
                row_counts = (
                    count for family, count in after.items() if not (family.startswith("$") or family.endswith(_COUNTS))
                )
                self.rows[operator] = self.rows.get(operator, 0) + sum(row_counts)


def _counts(state: DataFrame) -> dict[str, int]:
    return {str(row[0]): int(row[1]) for row in state.groupBy(FAMILY).count().collect()}
