"""Settings of a session that name classes of Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession

_STATE = "org.apache.spark.sql.execution.streaming.state"
ROCKSDB = f"{_STATE}.RocksDBStateStoreProvider"
"""The state store on disk: the only one whose state can be rewritten."""
IN_MEMORY = f"{_STATE}.HDFSBackedStateStoreProvider"
"""The state store that keeps all state in memory."""
STATE_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
"""The setting that chooses one of these."""

CHECKPOINT_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
"""The setting of the form of checkpoints: in form 2 each version of state has an id in its name."""

COUNT_ROWS = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows"
"""The setting by which RocksDB counts the rows that it keeps."""

WORKER = {"spark.python.daemon.module": f"{__package__}.daemon"}
"""The setting with which a new session runs functions with state in our faster way."""

PRIVATE_SOCKETS = {"spark.python.unix.domain.socket.enabled": "true"}
"""Settings that let Java and Python talk through sockets in ``java.io.tmpdir`` instead of ports of the machine. For each result
PySpark opens a port and waits there for one connection without a time limit; whoever connects first would get it."""

HAND_OVER = {"spark.shuffle.manager.incremental": "HandOver"}
"""The setting with which jobs in real time hand rows over within the JVM (HandOver.java). Spark's own way opens a port for
everybody. Spark does not start with a class that it does not find."""

FILE_MANAGER = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    )
}
"""The setting that accesses checkpoint files through Hadoop's FileSystem. Spark's own choice, its FileContext, renames with the
same promise (none of atomicity), and starts a process (readlink) for each look at a local file."""

EXCLUDED_RULES = "spark.sql.optimizer.excludedRules"
"""The setting that keeps rules of the optimizer away."""
_OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer"


def without_rules(*rules: str) -> dict[str, str]:
    """Return the settings with which the optimizer leaves out these rules, named by their classes."""
    return {EXCLUDED_RULES: ",".join(f"{_OPTIMIZER}.{rule}" for rule in rules)}


def counts_rows(spark: SparkSession) -> bool:
    """True if the state store tells how many rows it keeps: a user may have told RocksDB not to count them."""
    return state_provider(spark) != ROCKSDB or str(spark.conf.get(COUNT_ROWS, "true")).lower() == "true"


def state_provider(spark: SparkSession) -> str:
    """Return the class of the state store in use."""
    provider = spark.conf.get(STATE_PROVIDER)
    assert provider is not None
    return provider
