"""The threads of an engine go round among its processes, however many more of them there are than threads."""

import threading
import time
from collections import Counter

import pytest

from pitstop.spark.internals.joining import Clients

pytestmark = pytest.mark.spark

PROCESSES = [f"process-{letter}" for letter in "abcdef"]
JOBS, SECONDS = 5, 60


def test_of_processes_that_always_have_something_to_do_each_gets_its_turn(spark):
    Clients(spark)
    jobs, over = Counter(), threading.Event()

    def work(process):
        while not over.is_set():
            spark.sparkContext._jsc.sc().setLocalProperty("spark.scheduler.pool", process)
            spark.range(50_000).selectExpr("count(sha2(string(id), 256))").collect()
            jobs[process] += 1

    threads = [threading.Thread(target=work, args=(process,), daemon=True) for process in PROCESSES for _ in range(2)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and min(jobs[process] for process in PROCESSES) < JOBS:
        over.wait(0.05)
    counts = dict(jobs)
    over.set()
    for thread in threads:
        thread.join()
    assert min(counts.get(process, 0) for process in PROCESSES) >= JOBS, counts
    assert max(counts.values()) < 4 * min(counts.values()), counts
