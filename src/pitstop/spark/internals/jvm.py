"""The Java objects behind PySpark's. The other modules of this folder reach them through here."""

from __future__ import annotations

import subprocess
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors.exceptions.captured import CapturedException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

JavaError = Py4JError
"""The error that Spark's calls raise where PySpark has no error of its own."""

PACKAGES = ("org.apache.spark.", "pyspark.errors.")
"""The beginnings of the names of Spark's own errors."""

_JAVA_SAYS = "Trace:"
"""The text in py4j's errors that come from an answer of the JVM."""


def classes(spark: SparkSession) -> Any:
    """Return the JVM's packages and classes, as attributes."""
    jvm = spark._jvm
    assert jvm is not None, "this session has no JVM: Pitstop runs with Spark classic, not with Spark Connect"
    return jvm


def gateway(spark: SparkSession) -> Any:
    """Return the gateway to the JVM, which makes arrays there."""
    java_gateway = spark.sparkContext._gateway
    assert java_gateway is not None, "this session has no JVM: Pitstop runs with Spark classic, not with Spark Connect"
    return java_gateway


def end(spark: SparkSession, seconds: float) -> None:
    """Stop the session and wait for its JVM to end; TimeoutExpired if it does not end within this many seconds."""
    connection = gateway(spark)
    spark.stop()
    connection.shutdown()
    connection.proc.stdin.close()
    connection.proc.wait(seconds)


def wait_for_end(spark: SparkSession) -> None:
    """Wait until the session's JVM has ended, for whatever reason."""
    gateway(spark).proc.wait()


def ends(spark: SparkSession, seconds: float) -> bool:
    """Return True if the session's JVM, which this process has started, has ended or ends within this many seconds."""
    try:
        gateway(spark).proc.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def is_gone(spark: SparkSession) -> bool:
    """True if the session computes nothing any more: its JVM has ended, or is about to, or its context has stopped."""
    try:
        return bool(spark.sparkContext._jsc.sc().isStopped())
    except Exception:  # a question to a Java that is ending fails in many ways
        return True


def end_stores(spark: SparkSession) -> None:
    """Unload all stores of state, and end their maintenance, which warns in a JVM whose Spark has ended."""
    classes(spark).org.apache.spark.sql.execution.streaming.state.StateStore.stop()


def heap_bytes(spark: SparkSession) -> int:
    """Return the most bytes that the JVM takes for its objects."""
    return int(classes(spark).java.lang.Runtime.getRuntime().maxMemory())


def heap_in_use(spark: SparkSession) -> int:
    """Return the bytes that the JVM's objects take now, with those that are garbage."""
    runtime = classes(spark).java.lang.Runtime.getRuntime()
    return int(runtime.totalMemory() - runtime.freeMemory())


def is_lost_java(error: BaseException) -> bool:
    """Return True if an error says that the JVM does not answer any more.

    A call that is under way as the JVM dies may raise no network error, but py4j's plainest one, without Java's words. In a
    thread that has made no call before, it raises the error of the socket.
    """
    if isinstance(error, OSError):
        return _raised_in(error, "py4j")
    return isinstance(error, Py4JNetworkError) or (type(error) is Py4JError and _JAVA_SAYS not in str(error))


def java_trace(error: BaseException) -> str:
    """Return Java's own text about an error of PySpark's, with all that led to it; empty for other errors."""
    if not isinstance(error, CapturedException):
        return ""
    # PySpark gives the error of an ended query no text of Java's but the calls: the errors are those of its cause.
    if isinstance(error, StreamingQueryException) or (error._origin is None and error._cause is not None):
        return java_trace(error._cause) if error._cause is not None else ""
    return str(error._stackTrace)


def _raised_in(error: BaseException, package: str) -> bool:
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and str(frames[-1].f_globals.get("__name__")).partition(".")[0] == package


def session_of(spark: SparkSession) -> Any:
    """Return the Java session."""
    return spark._jsparkSession


def hadoop_settings(spark: SparkSession) -> Any:
    """Return a new Hadoop configuration with the settings of the session."""
    return session_of(spark).sessionState().newHadoopConf()


def analyzed(frame: DataFrame) -> Any:
    """Return the logical plan of a DataFrame after analysis, before the optimizer."""
    return frame._jdf.queryExecution().analyzed()


def java_frame(frame: DataFrame) -> Any:
    """Return the Java DataFrame of a Python one."""
    return frame._jdf


def java_query(query: Any) -> Any:
    """Return the object that runs a streaming query: Spark's ``MicroBatchExecution``."""
    return query._jsq.streamingQuery()


def children(node: Any) -> Iterator[Any]:
    """Yield the inputs of a node of a plan, in order."""
    return items(node.children())


def items(sequence: Any) -> Iterator[Any]:
    """Yield the items of a Scala sequence, in order."""
    return (sequence.apply(number) for number in range(sequence.size()))


def sequence_of(spark: SparkSession, parts: list[Any]) -> Any:
    """Return a sequence of Scala's."""
    return classes(spark).scala.jdk.javaapi.CollectionConverters.asScala(parts).toList()


@contextmanager
def job_group(spark: SparkSession, group: str, description: str) -> Iterator[None]:
    """Let the jobs that this thread starts within be of a group, so that they can be cancelled (:func:`cancel_group`).

    The thread leaves the group at the end: Spark also cancels all later jobs of a group that was cancelled.
    """
    spark.sparkContext.setJobGroup(group, description, interruptOnCancel=True)
    try:
        yield
    finally:
        with suppress(JavaError):  # Java is gone, and the group with it
            spark.sparkContext._jsc.clearJobGroup()


def cancel_group(spark: SparkSession, group: str) -> None:
    """Cancel the jobs of a group, including those that it has not submitted yet.

    PySpark's own method misses a job that just begins.
    """
    spark.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(group)


def left_tasks(spark: SparkSession) -> int:
    """Return the number of running tasks whose stages have ended or were cancelled, and that do not check if they are to end."""
    status = spark.sparkContext._jsc.sc().statusTracker()
    running = sum(executor.numRunningTasks() for executor in status.getExecutorInfos())
    stages = (status.getStageInfo(stage) for stage in status.getActiveStageIds())
    return int(running - sum(stage.get().numActiveTasks() for stage in stages if stage.isDefined()))


def ended_tasks(spark: SparkSession, tag: str) -> tuple[tuple[int, int], ...]:
    """Return (stage, tasks of it that have ended) for each stage of the jobs with this tag."""
    status = spark.sparkContext._jsc.sc().statusTracker()
    jobs = (status.getJobInfo(job) for job in status.getJobIdsForTag(tag))
    numbers = {int(stage) for job in jobs if job.isDefined() for stage in job.get().stageIds()}
    stages = ((stage, status.getStageInfo(stage)) for stage in numbers)
    return tuple(sorted((stage, int(info.get().numCompletedTasks())) for stage, info in stages if info.isDefined()))
