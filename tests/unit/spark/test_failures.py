"""What Spark's Python workers raise, as one sentence."""

import pytest

from pitstop.errors import StoreError, is_of_the_machine
from pitstop.spark.base.away import SourceAwayError, SourceFaultError
from pitstop.spark.base.failures import explain, explain_run

TRACE = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/d/job.py", line 3, in louder
    import shouting
{error}
"""


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("ValueError: no such word", "An epoch failed in function louder (job.py, line 3): ValueError: no such word"),
        (
            "ModuleNotFoundError: No module named 'shouting'",
            "An epoch failed in function louder (job.py, line 3): ModuleNotFoundError: No module named 'shouting'. If a package "
            "has it, name that among the requirements of the job (docs/dependencies.md).",
        ),
    ],
)
def test_a_module_that_a_function_misses_in_a_worker_says_what_to_do(error, told):
    assert explain(Exception(TRACE.format(error=error)), None).message == told


@pytest.mark.parametrize(
    "said",
    [
        "org.apache.spark.SparkException: [CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] Checkpoint block rdd_1220_4 not found!",
        "Lost task 3.3 in stage 7.0 (TID 9) (10.0.0.2 executor 1): ExecutorLostFailure (executor 1 exited caused by one of ...)",
        "org.apache.spark.shuffle.FetchFailedException: Connection refused",
        "org.apache.spark.SparkException: Failed to get broadcast_263_piece0 of broadcast_263",
    ],
)
@pytest.mark.parametrize("in_callback", [True, False], ids=["in a sink", "in the query"])
def test_what_is_lost_with_an_executor_is_no_fault_of_the_job(said, in_callback):
    error = Exception(f"An error occurred while calling o4539.save.\n: {said}\n\tat org.apache.spark.X")
    failure = explain(Exception("The query has ended"), error) if in_callback else explain(error, None)
    assert failure.details["restartable"]
    assert failure.message.startswith("An epoch failed: an executor was lost with rows that the epoch still needed.")


def test_a_fault_of_the_job_stays_one():
    failure = explain(Exception(TRACE.format(error="ValueError: no such word")), None)
    assert "restartable" not in failure.details


@pytest.mark.parametrize("in_callback", [False, True])
def test_a_full_heap_costs_an_attempt_and_says_what_to_do(in_callback):
    said = Exception("Job aborted due to stage failure: java.lang.OutOfMemoryError: Java heap space")
    failure = explain(Exception("query"), said) if in_callback else explain(said, None)
    assert failure.details["restartable"]
    assert "PITSTOP_DRIVER_MEMORY" in failure.message
    assert "state_store=rocksdb" in failure.message
    assert explain_run(said).details["restartable"]


AWAY = "The folder is not there: its files are read once it is."


@pytest.mark.parametrize("error", [SourceAwayError, StoreError])
def test_a_source_that_is_away_in_a_process_of_spark_costs_time_and_no_attempt(error):
    trace = Exception(TRACE.format(error=f"{error.__module__}.{error.__name__}: {AWAY}"))
    epoch, run = explain(trace, None), explain_run(trace)
    assert epoch.message == f"An epoch could not be read: {AWAY}"
    assert str(run) == f"The run could not go on: {AWAY}"
    for failure in (epoch, run, explain(Exception("The query has ended"), trace)):
        assert is_of_the_machine(failure)
        assert "restartable" not in failure.details


def test_what_a_source_cannot_take_costs_an_attempt_and_is_told_in_its_own_sentence():
    fault = "http://feed answers a request for 10 objects with more than 64 MiB: give the source a lower limit."
    trace = Exception(TRACE.format(error=f"{SourceFaultError.__module__}.{SourceFaultError.__name__}: {fault}"))
    epoch, run = explain(trace, None), explain_run(trace)
    assert epoch.message == f"An epoch could not be read: {fault}"
    assert str(run) == f"The run could not go on: {fault}"
    for failure in (epoch, run, explain(Exception("The query has ended"), trace)):
        assert failure.details["restartable"]
        assert not is_of_the_machine(failure)


@pytest.mark.parametrize(
    "said",
    [
        "sqlite3.OperationalError: database or disk is full",
        "RuntimeError: can't start new thread",
        "MemoryError",
        "MemoryError: out of luck",
        "OSError: [Errno 5] Input/output error",
        "OSError: [Errno 116] Stale file handle",
    ],
)
def test_what_a_machine_without_room_says_in_a_process_of_spark_costs_time_and_no_attempt(said):
    trace = Exception(TRACE.format(error=said))
    epoch, run = explain(trace, None), explain_run(trace)
    assert epoch.message == f"An epoch could not be written: {said}"
    assert str(run) == f"The run could not go on: {said}"
    assert is_of_the_machine(epoch)
    assert is_of_the_machine(run)


LOST = "Job aborted due to stage failure: Task 0 failed 1 times, recently: Lost task 0.0 in stage 2.0 (TID 7) (h driver): "


@pytest.mark.parametrize(
    "said",
    [
        f"[STREAM_FAILED] Query [id = 4] terminated with exception: {LOST}java.io.IOException: No space left on device",
        "[STREAM_FAILED] Query [id = 4] terminated with exception: No space left on device SQLSTATE: XXKST",
        "Caused by: java.nio.file.FileSystemException: /data/x: Read-only file system",
        "org.apache.spark.SparkException: java.io.FileNotFoundException: /data/x (Too many open files)",
        "org.apache.hadoop.fs.FSError: java.io.IOException: Input/output error",
        "org.rocksdb.RocksDBException: While appending to file: /data/1.sst: No space left on device",
        "java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory or process/resource limits reached",
        'java.io.IOException: Cannot run program "python3": error=12, Cannot allocate memory',
        "ExitCodeException exitCode=1: fork: retry: Resource temporarily unavailable",
        ": java.io.UncheckedIOException: java.io.IOException: Stale file handle",
    ],
)
def test_what_the_system_says_through_java_costs_time_and_no_attempt(said):
    assert is_of_the_machine(explain(Exception(said), None))
    assert is_of_the_machine(explain_run(Exception(said)))


@pytest.mark.parametrize(
    "said",
    [
        "ValueError: bad line 'Oct 3 kernel: sda: Input/output error'",
        "pitstop.spark.lowering.row_functions.RowError: stage 's' fails for Row(line='OSError: Too many open files'): no.",
        f"{LOST}org.apache.spark.SparkNumberFormatException: [CAST_INVALID_INPUT] 'No space left on device' is no number",
        "[STREAM_FAILED] Query terminated with exception: [CAST_INVALID_INPUT] The value 'Input/output error' cannot be cast",
        "RuntimeError: the line says: can't start new thread",
        "java.lang.RuntimeException: Error while decoding 'sda: Input/output error'",
        f"[STREAM_FAILED] Query terminated with exception: {LOST}java.lang.RuntimeException: no number: No space left on device",
        *(
            f"[STREAM_FAILED] terminated with exception: {LOST}{quoted} SQLSTATE: {state}\n\tat a.B\nDriver: SQLSTATE: XXKST"
            for state, quoted in (
                ("22018", "[CAST_INVALID_INPUT] The value '1\nOSError: [Errno 28] No space left on device\n' is no INT."),
                ("22018", "[CAST_INVALID_INPUT] The value '1\nMemoryError\n2' of the type STRING cannot be cast to INT."),
                ("22018", "[CAST_INVALID_INPUT] The value '\npitstop.spark.base.away.SourceAwayError: x\n' is no INT."),
                ("P0001", "[USER_RAISED_EXCEPTION] \nMemoryError"),
            )
        ),
    ],
)
def test_a_row_that_quotes_what_a_system_says_is_a_fault_of_the_job_all_the_same(said):
    trace = Exception(TRACE.format(error=said) if "Lost task" not in said else said)
    for failure in (explain(trace, None), explain(Exception("The query has ended"), trace), explain_run(trace)):
        assert not is_of_the_machine(failure)


def test_a_long_row_of_a_log_is_looked_through_once():
    row = "[INFO] all is well. " * 200_000
    assert not is_of_the_machine(explain(Exception(f"java.lang.RuntimeException: {row}"), None))


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't start new thread")])
def test_a_run_itself_without_memory_or_threads_costs_time_and_no_attempt(error):
    epoch, run = explain(Exception("The query has ended"), error), explain_run(error)
    assert is_of_the_machine(epoch)
    assert is_of_the_machine(run)
    assert str(run) == f"The run could not go on: {str(error) or 'MemoryError'}"


def test_a_store_that_fails_an_epoch_as_it_is_written_is_told_so():
    error = StoreError("The store is busy.")
    told = explain(Exception(f"py4j callback: pitstop.errors.StoreError: {error}"), error)
    assert told.message == "An epoch could not be written: The store is busy."
