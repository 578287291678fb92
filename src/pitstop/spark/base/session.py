"""Spark sessions with the settings that durable, changeable state needs."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pitstop.machine import class_archive
from pitstop.machine.cache_folder import is_made
from pitstop.machine.class_jar import class_jar, put_on_class_path
from pitstop.machine.java import find_java, spark_home, version_of
from pitstop.machine.private import UMASK
from pitstop.machine.temporary import temporary_folder
from pitstop.model.cluster import ClusterSettings, Placement, SparkCluster
from pitstop.spark.internals import jvm
from pitstop.spark.internals.callbacks import accept_own_peers_only
from pitstop.spark.internals.gateways import end_strangers
from pitstop.spark.internals.joining import CLIENT_VARIABLE
from pitstop.spark.internals.numpy_arguments import know_numpy_arguments
from pitstop.spark.internals.packages import add_packages
from pitstop.spark.internals.query_logs import log_no_wrong_queries
from pitstop.spark.internals.settings import (
    FILE_MANAGER,
    HAND_OVER,
    PRIVATE_SOCKETS,
    ROCKSDB,
    STATE_PROVIDER,
    WORKER,
    without_rules,
)

_MEMBERS = "spark.pitstop.members"
"""The setting of a session on our members: their ids."""
_TEMPORARY = "spark.pitstop.temporary"
"""The setting of a session: the folder that its Java uses instead of ``/tmp``."""
SCRATCH_SETTING = "spark.pitstop.scratch"
"""The setting of a session in an engine: the folder for scratch files of its process."""
PART_SETTING = "spark.pitstop.memory.part"
"""The setting of a session in an engine: the part of the heap that is for its job."""
END_SECONDS = 120.0
DRIVER_MEMORY = "PITSTOP_DRIVER_MEMORY"
"""The variable with the size of the heap."""
SCRATCH_PREFIX = "spark-"
"""The prefix of the names of sessions' scratch folders."""

COLLECTION_INTERVAL = "spark.cleaner.periodicGC.interval"
"""The setting that says how often Spark asks Java to look through its whole heap. The machine then gets back what is free."""
STAGE_THREADS = 256
"""The number of threads of each pool in which Spark starts the stages of an epoch.

A pool starts a thread with each stage, also while others are idle, up to 1,024 by Spark's default, and each one stays for a
minute. The epochs of twenty jobs of an engine would keep 250 MB for threads.
"""
GIVES_BACK = "-XX:+ExplicitGCInvokesConcurrent"
"""The option of Java by which that look holds no epoch up."""

STREAM_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.offsetLog.formatVersion": "1",
    # The provider whose state can be rewritten under another plan; changelogs make an epoch's cost its changes.
    STATE_PROVIDER: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Spark's 8 MB hold next to nothing of a large state: each look at a key would read, and unpack, a block of a file.
    "spark.sql.streaming.stateStore.rocksdb.blockCacheSizeMB": "128",
    "spark.sql.streaming.stateStore.encodingFormat": "unsaferow",
    # All state of a join in one store: the older form has four, and a rewriter that knows of one.
    "spark.sql.streaming.join.stateFormatVersion": "3",
    # Where two stateful stages read the same rows by the same keys, the second would share the first one's shuffle and have no
    # watermark: it would keep its rows, and its timers would never fire.
    "spark.sql.exchange.reuse": "false",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.stopTimeout": "30s",
    "spark.sql.adaptive.enabled": "true",
    # Spark allows one applyInPandasWithState a query, though branches side by side do not touch one another. Each stateful
    # stage is checked all the same, with all that leads to it (lowering/lowering.py).
    "spark.sql.streaming.unsupportedOperationCheck": "false",
}
"""Settings of every job's session. A job's own ``spark`` option overrides them, except those that state depends on."""


def optimizer_settings(chained: bool) -> dict[str, str]:
    """Return the settings that keep optimizer rules away from a job's query; ``chained``: stateful stages follow one another.

    A filter pushed below the event time would show the watermark only the rows that pass it. A branch in which few rows pass
    would then hold all windows back. In chained stages these rules would shape a stage's state by what follows it. With another
    select or filter below, saved state would no longer fit, or would lack keys.
    """
    pushing = ("PushDownPredicates", "PushPredicateThroughNonJoin")
    rules = (*pushing, "ColumnPruning", "CollapseProject") if chained else pushing
    return without_rules(*rules)


def build_session(
    cluster: ClusterSettings,
    work_dir: Path,
    settings: dict[str, str] | None = None,
    archive_classes: Path | None = None,
    java_options: Sequence[str] = (),
) -> SparkSession:
    """Start (or get) this process's session, the driver of that cluster, with scratch files in ``work_dir``.

    ``archive_classes``: the place where Java archives the classes that it loads (machine.class_archive) as it ends.
    ``java_options``: more options for the Java of this process.
    """
    accept_own_peers_only()
    know_numpy_arguments()
    # With another interpreter in the workers the query hangs silently at its first batch.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", cluster.bind_address)
    java = find_java(work_dir / "java")
    if SparkSession.getActiveSession() is None:
        os.environ["JAVA_HOME"] = str(java)
    work_dir.mkdir(parents=True, exist_ok=True)
    scratch = tempfile.mkdtemp(prefix=SCRATCH_PREFIX, dir=work_dir.absolute())
    own = SparkCluster.read(cluster.own) if cluster.own is not None else None
    temporary = temporary_folder()
    options = _java_options(java)
    own_options = [*options, f"-Djava.io.tmpdir={temporary}", GIVES_BACK]
    to_use = class_archive.to_use(class_archive.class_archive(java, spark_home()))
    archiving = class_archive.to_make(archive_classes) if archive_classes is not None else []
    in_jar: dict[str, str] = {}
    if archive_classes is None:  # of a class path that is a part of all others: Java may then use the archive with any
        jar = class_jar(spark_home())
        put_on_class_path(jar, os.environ)
        in_jar = HAND_OVER if cluster.is_here and jar is not None and is_made(jar) else {}
    builder = (
        SparkSession.builder.master(own.master if own is not None else cluster.master)
        .appName("pitstop")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        # In an engine each process has a pool of its own. Elsewhere there is one, in which jobs wait in line.
        .config("spark.scheduler.mode", "FAIR")
        # PySpark would tell Java of each call of its functions where it was made: our errors tell stages and their places.
        .config("spark.python.sql.dataFrameDebugging.enabled", "false")
        .config("spark.driver.host", cluster.driver_host)
        .config("spark.driver.bindAddress", cluster.bind_address)
        .config("spark.local.dir", scratch)
        # Hadoop sets permissions itself, past the umask of the process.
        .config("spark.hadoop.fs.permissions.umask-mode", f"{UMASK:03o}")
        .config("spark.sql.warehouse.dir", str(Path(scratch) / "warehouse"))
        .config("spark.driver.extraJavaOptions", " ".join([*own_options, *(archiving or to_use), *java_options]))
        .config(_TEMPORARY, str(temporary))
        .config(COLLECTION_INTERVAL, "5min")
        .config("spark.sql.shuffleExchange.maxThreadThreshold", str(STAGE_THREADS))
        .config("spark.sql.resultQueryStage.maxThreadThreshold", str(STAGE_THREADS))
        .config("spark.driver.memory", os.environ.get(DRIVER_MEMORY, "2g"))
    )
    on_cluster = _executors(own, [*options, *to_use]) if own is not None else _ports(cluster, options)
    own_settings = STREAM_SETTINGS | FILE_MANAGER | WORKER | in_jar
    for key, value in (on_cluster | own_settings | (settings or {}) | PRIVATE_SOCKETS).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    end_strangers(session)
    log_no_wrong_queries()
    return session


def is_joined(spark: SparkSession) -> bool:
    """True for a session of ``engines.join_session``, whose JVM runs other jobs, too."""
    return CLIENT_VARIABLE in spark.sparkContext.environment


def cached(table: DataFrame) -> DataFrame:
    """Return a table that is kept in memory once it is read.

    Spark gives the rows of a cached table to each session whose plan is the same. The jobs of an engine read theirs each at a
    time of its own, so the plan of each gets a name that no other has.
    """
    if is_joined(table.sparkSession):
        table = table.observe(f"cached {secrets.token_hex(8)}", F.count(F.lit(1)))
    return table.persist()


def heap_part(spark: SparkSession) -> float:
    """Return the number of bytes of the heap that are for the job of this session."""
    return float(spark.conf.get(PART_SETTING, None) or 1) * jvm.heap_bytes(spark)


def send_artifact(spark: SparkSession, importable: Path) -> None:
    """Let functions that are made from now on find the file of a job, wherever they run."""
    if not is_joined(spark):
        spark.sparkContext.addPyFile(str(importable))
        return
    # Spark has one folder for the files of all sessions of a JVM, and those of two jobs may have the same name.
    add_packages(spark, importable.parent if importable.suffix == ".py" else importable, None)


def end_session(spark: SparkSession) -> None:
    """End a session and its Java, and wait until it is gone."""
    jvm.end(spark, END_SECONDS)


def wait_for_java(spark: SparkSession) -> None:
    """Wait until a session's Java is gone. A task without memory, or the machine, may end it."""
    jvm.wait_for_end(spark)


def java_ends(spark: SparkSession, seconds: float) -> bool:
    """Return True if a session's Java has ended, or ends within this many seconds."""
    return jvm.ends(spark, seconds)


def scratch_of(spark: SparkSession) -> Path:
    """Return the folder in which a session's process keeps everything that it needs while it lives."""
    return Path(spark.conf.get(SCRATCH_SETTING, None) or spark.conf.get("spark.local.dir", None) or tempfile.gettempdir())


def temporary_of(spark: SparkSession) -> Path:
    """Return the folder in which a session of :func:`build_session` lets Java unpack libraries, and PySpark make its sockets."""
    folder = spark.conf.get(_TEMPORARY)
    assert folder is not None
    return Path(folder)


def placement_of(spark: SparkSession) -> Placement | None:
    """Return the members on which a session of :func:`build_session` has executors; None if there are none."""
    settings = spark.sparkContext.getConf()
    members = settings.get(_MEMBERS)
    if not members:
        return None
    return Placement(tuple(members.split(",")), int(str(settings.get("spark.cores.max"))))


def runs_here(spark: SparkSession) -> bool:
    """True if all tasks run in this process, and not on a cluster."""
    return ClusterSettings(master=str(spark.sparkContext.master)).is_here


def local_folder(spark: SparkSession) -> Path | None:
    """Return the folder in which Spark keeps the rows that it shuffles; None if that is the affair of other processes."""
    folder = spark.conf.get("spark.local.dir", None)
    return Path(folder) if folder is not None and runs_here(spark) else None


def send_packages(spark: SparkSession, folder: Path, scratch: Path) -> None:
    """Let functions that are made from now on find the packages of a folder, wherever they run.

    ``scratch`` must stay as long as they do.
    """
    add_packages(spark, folder, None if runs_here(spark) else Path(tempfile.mkdtemp(dir=scratch)))


def _ports(cluster: ClusterSettings, java_options: list[str]) -> dict[str, str]:
    """Return settings that keep Spark's own ports (RPC, blocks) to Spark alone: they deserialize whatever they receive.

    With a local master, and on Kubernetes, Spark makes up the secret. On another cluster the members must share one, which its
    administrator sets.
    """
    if cluster.master.startswith("k8s://"):  # executors run what we run
        return {"spark.authenticate": "true", "spark.executor.extraJavaOptions": " ".join(java_options)}
    return {"spark.authenticate": "true"} if cluster.is_here else {}


def _java_options(java: Path) -> list[str]:
    """Return the options that the Java of driver and executors gets."""
    logging = f"-Dlog4j2.configurationFile={Path(__file__).parent / 'log4j2.properties'}"
    # Hadoop runs a program for each permission that it sets on a local file. Java's own way, a helper for each program, takes
    # four times as long; later releases mean to take this one away.
    vfork = version_of(java / "bin" / "java") < 24 and sys.platform == "linux"
    # Threads that Java starts for a session of an engine tell in their log lines whose they are.
    inherited = "-Dlog4j2.isThreadContextMapInheritable=true"
    return [logging, inherited, *(["-Djdk.lang.Process.launchMechanism=VFORK"] if vfork else [])]


def _executors(own: SparkCluster, java_options: list[str]) -> dict[str, str]:
    """Return settings that give a job one executor on each of our members, closed to anybody without the secret."""
    cores = own.cores or (1,)
    return {
        **own.spark_settings,
        "spark.cores.max": str(sum(cores)),
        _MEMBERS: ",".join(own.members),
        "spark.executor.cores": str(min(cores)),
        "spark.executor.memory": f"{own.executor_memory_mb}m",
        # A member that leaves lets its tasks come to their end.
        "spark.decommission.enabled": "true",
        # State is best spread evenly: tasks wait for the executors that are just starting, but not for ones that are lost.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "30s",
        # An executor works in a folder of its own, as its user alone does: its sockets and libraries lie there.
        "spark.executor.extraJavaOptions": " ".join([*java_options, "-Djava.io.tmpdir=."]),
    }


def apply_settings(spark: SparkSession, partitions: int, settings: dict[str, str]) -> None:
    """Set a session up for one job; it may have served another, or have been started before the job was known."""
    for key, value in (STREAM_SETTINGS | settings).items():
        spark.conf.set(key, value)
    use_partitions(spark, partitions)


def use_partitions(spark: SparkSession, partitions: int) -> None:
    """Let the queries that start from now on keep their state in this many partitions."""
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
