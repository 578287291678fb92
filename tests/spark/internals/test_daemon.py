"""Python workers, which Spark uses for one task after the other."""

import pyarrow
import pytest


@pytest.mark.long
def test_a_worker_has_no_more_to_do_for_a_task_after_a_thousand_others(spark):
    """A layer more around each task would end a job with a RecursionError after some minutes."""

    def depth():
        import sys

        frame, count = sys._getframe(), 0
        while frame is not None:
            frame, count = frame.f_back, count + 1
        return count

    class Read:
        """How deep the stack of the worker is where it reads what a task is to run."""

        def __reduce__(self):
            return depth, ()

    read = Read()

    def told(batches):
        import os

        for _ in batches:
            yield pyarrow.RecordBatch.from_pylist([{"process": os.getpid(), "depth": int(read)}])

    rows = spark.range(0, 60, 1, 60).mapInArrow(told, "process long, depth long").collect()
    tasks = {}
    for row in rows:
        tasks.setdefault(row.process, []).append(row.depth)
    assert max(map(len, tasks.values())) >= 10, "workers are used again"
    assert all(len(set(depths)) == 1 for depths in tasks.values()), tasks
