"""The parts of Spark beyond its public API that jobs in real time use. Their query is in tests/spark/test_real_time.py."""

import pytest

from pitstop.kit.waiting import wait_until
from pitstop.spark.internals.real_time import hands_over, set_task_slots

pytestmark = pytest.mark.spark

TASKS = 6


def test_more_tasks_than_cores_run_at_once_and_the_number_of_partitions_stays(spark, tmp_path):
    folder, context = str(tmp_path), spark.sparkContext

    def meet(number):
        from pathlib import Path

        Path(folder, str(number)).touch()
        return wait_until(lambda: len(list(Path(folder).iterdir())) == TASKS, 60)

    before = context.defaultParallelism
    assert set_task_slots(spark, TASKS) == TASKS
    try:
        assert context.parallelize(range(TASKS), TASKS).map(meet).collect() == [True] * TASKS
        assert context.defaultParallelism == before
    finally:
        assert set_task_slots(spark, 2) == 2
    assert context.parallelize(range(TASKS), TASKS).map(lambda number: number).collect() == list(range(TASKS))


def test_a_session_hands_rows_over_within_its_java(spark):
    assert hands_over(spark)
