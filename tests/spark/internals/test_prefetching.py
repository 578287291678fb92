"""Fails when Spark changes how the rows of an epoch come with its plan."""

import os
import subprocess
import sys

import pyarrow as pa
import pyspark.cloudpickle
import pytest
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from pitstop.kit.waiting import wait_until
from pitstop.spark.internals.prefetching import MOST_BYTES, prefetching
from tests.spark.internals import test_prefetching

pytestmark = pytest.mark.spark
pyspark.cloudpickle.register_pickle_by_value(test_prefetching)
STEPS = (1, 3, 1_000, 2)
"""Rows of each epoch."""
SMALL = 10


class Numbers(InputPartition):
    def __init__(self, start, end, planner):
        self.start, self.end, self.planner = start, end, planner


class NumbersReader(DataSourceStreamReader):
    """Each number with the process that has planned it, and the one that has read it."""

    def initialOffset(self):
        return {"next": 0, "step": 0}

    def latestOffset(self, start, limit):
        step = start["step"]
        return start if step == len(STEPS) else {"next": start["next"] + STEPS[step], "step": step + 1}

    def partitions(self, start, end):
        return [Numbers(start["next"], end["next"], os.getpid())]

    def is_small(self, partition):
        return partition.end - partition.start <= SMALL

    def read(self, partition):
        numbers = list(range(partition.start, partition.end))
        columns = {"number": numbers, "planner": [partition.planner] * len(numbers), "reader": [os.getpid()] * len(numbers)}
        yield pa.RecordBatch.from_pydict(columns)


class NumbersSource(DataSource):
    @classmethod
    def name(cls):
        return "numbers_with_plan"

    def schema(self):
        return "number bigint, planner bigint, reader bigint"

    def streamReader(self, schema):
        return prefetching(NumbersReader())


@pytest.mark.long
def test_the_rows_of_a_small_epoch_come_with_its_plan_and_those_of_a_large_one_from_its_tasks(spark, tmp_path):
    spark.dataSource.register(NumbersSource)
    epochs = {}
    query = (
        spark.readStream.format("numbers_with_plan")
        .load()
        .writeStream.foreachBatch(lambda rows, epoch: epochs.update({epoch: [*rows.collect(), *rows.collect()]}))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        assert wait_until(lambda: len(epochs) == len(STEPS) or query.exception() is not None, 60), query.exception()
    finally:
        query.stop()
    first = 0
    for epoch, rows in sorted(epochs.items()):
        numbers = list(range(first, first + STEPS[epoch]))
        assert [row["number"] for row in rows] == numbers * 2, "also if they are asked for twice"
        assert {row["planner"] == row["reader"] for row in rows} == {STEPS[epoch] <= SMALL}
        first += STEPS[epoch]


class LongTexts(NumbersReader):
    """One epoch of few rows."""

    def __init__(self, length):
        self.length = length

    def read(self, partition):
        for _ in range(3):
            yield pa.RecordBatch.from_pydict({"text": ["x" * self.length]})


@pytest.mark.parametrize(("length", "with_plan"), [(1_000, True), (MOST_BYTES // 2, False)])
def test_few_rows_that_are_long_are_read_by_tasks(length, with_plan):
    reader = prefetching(LongTexts(length))
    reader.partitions({"next": 0}, {"next": 3})
    found = reader.getCache({"next": 0}, {"next": 3})
    assert (found is not None) == with_plan
    assert found is None or sum(batch.num_rows for batch in found) == 3


def test_a_source_makes_columns_without_pandas_which_stays_at_hand():
    said = """
import sys
import pyarrow as pa
from pitstop.spark.internals.prefetching import leave_pandas_out

leave_pandas_out()
made = pa.RecordBatch.from_arrays([pa.array([1, None]), pa.array(["a", "b"])], names=["number", "text"])
print("pandas" in sys.modules, made.to_pylist() == [{"number": 1, "text": "a"}, {"number": None, "text": "b"}])
print(len(made.to_pandas()), "pandas" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False True", "2 True"], "Arrow looks for pandas otherwise"
