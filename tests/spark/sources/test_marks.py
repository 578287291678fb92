"""Marks of processes, where several are forked from one that has loaded the source already (runner.template)."""

import os

from pitstop.spark.sources.kafka import process_mark


def in_fork():
    """Return the mark of a process that is forked from this one."""
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writes, process_mark(os.getpid()).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as answer:
        mark = answer.read()
    os.waitpid(pid, 0)
    return mark


def test_a_feed_knows_runs_apart_that_are_forked_from_one_process():
    own = process_mark(os.getpid())
    assert process_mark(os.getpid()) == own, "within a run it stays"
    assert len({own, in_fork(), in_fork()}) == 3
