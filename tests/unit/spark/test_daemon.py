"""The daemon of Spark's Python workers, without a JVM: a socket stands in for it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = """
import logging, socket, sys
import pyspark.worker
from pyspark import daemon
from pitstop.spark.internals import daemon as own

def task(infile, outfile):
    # As Spark's worker does: an error goes to the JVM, whose end of the socket is closed; then the process is to end.
    try:
        {task}
    except Exception as error:
        {then}

pyspark.worker.main = task
if "debug" in sys.argv:
    logging.basicConfig(level="DEBUG")
if "plain" not in sys.argv:
    own.take_over()
here, there = socket.socketpair()
there.close()
try:
    code = daemon.worker(here, True)
except BaseException as error:
    code = type(error).__name__
print("code", code)
"""
MUCH, LITTLE = "outfile.write(b'x' * 1_000_000)", "outfile.write(b'x' * 100)"
"""A little stays in a buffer until the daemon writes it."""


def worker(task, then, *words):
    script = SCRIPT.format(task=task, then=then)
    run = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip(), run.stderr


@pytest.mark.parametrize(("task", "then"), [(MUCH, "raise"), (MUCH, "sys.exit(-1)"), (LITTLE, "raise")])
def test_a_jvm_that_hangs_up_leaves_no_trace_in_the_log_of_a_job(task, then):
    said, trace = worker(task, then)
    assert said.startswith("code ")
    assert "Traceback" not in trace
    assert "BrokenPipe" not in trace


def test_sparks_own_daemon_leaves_one():
    _, trace = worker(LITTLE, "raise", "plain")
    assert "BrokenPipeError" in trace, "else Spark says nothing by itself any more, and ours is not needed"


@pytest.mark.parametrize("task", [MUCH, LITTLE])
def test_it_is_told_to_those_who_ask_for_all(task):
    _, trace = worker(task, "raise", "debug")
    assert "a task's rows were wanted no more" in trace
    assert "Traceback" not in trace


def test_other_errors_are_told_as_ever():
    said, _ = worker("raise MemoryError('none left')", "raise")
    assert said == "code MemoryError"
