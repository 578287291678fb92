"""The threads of an engine go round among its processes, however many more of them there are than threads."""

import threading
import time
from collections import Counter

import pytest

from pitstop.spark.internals.joining import Clients

pytestmark = pytest.mark.spark

PROCESSES = [f"process-{letter}" for letter in "abcdef"]
JOBS, SECONDS = 5, 60


def jobs_of(spark, enough):
    """Return how many Spark jobs each process has done, of processes that always have two more to do, once that is enough."""
    jobs, over = Counter(dict.fromkeys(PROCESSES, 0)), threading.Event()

    def work(process):
        while not over.is_set():
            spark.sparkContext._jsc.sc().setLocalProperty("spark.scheduler.pool", process)
            spark.range(20_000).selectExpr("count(sha2(string(id), 256))").collect()
            jobs[process] += 1

    threads = [threading.Thread(target=work, args=(process,), daemon=True) for process in PROCESSES for _ in range(2)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and not enough(jobs):
        over.wait(0.05)
    counts = dict(jobs)
    over.set()
    for thread in threads:
        thread.join()
    return counts


def test_of_processes_that_always_have_something_to_do_each_gets_its_turn(spark):
    Clients(spark)
    counts = jobs_of(spark, lambda jobs: min(jobs.values()) >= JOBS)
    assert min(counts.values()) >= JOBS, counts
    assert max(counts.values()) < 4 * min(counts.values()), counts


def test_a_process_of_more_weight_gets_more_and_no_other_one_waits_for_ever(spark):
    client = Clients(spark).add(PROCESSES[-1])
    client.weigh(5)
    try:
        *others, heavy = jobs_of(spark, lambda jobs: min(jobs.values()) >= JOBS and sum(jobs.values()) > 60).values()
        assert min(others) >= JOBS, (others, heavy)
        assert heavy > 1.5 * max(others), (others, heavy)
    finally:
        client.forget()
        client.end()
    evenly = jobs_of(spark, lambda jobs: min(jobs.values()) >= JOBS)
    assert max(evenly.values()) < 4 * min(evenly.values()), evenly
