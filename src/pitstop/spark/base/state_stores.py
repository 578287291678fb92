"""The place where a job's state lives while it runs: the settings of each store, and the choice with state_store=auto."""

from __future__ import annotations

import os

from pyspark.sql import SparkSession

from pitstop.errors import UsageError
from pitstop.model.config import Execution, JobConfig, StateStore
from pitstop.model.snapshot import SnapshotManifest
from pitstop.plan.model import Plan
from pitstop.plan.rules import first_only_on_disk
from pitstop.spark.base.session import heap_part
from pitstop.spark.internals import jvm
from pitstop.spark.internals.settings import IN_MEMORY, ROCKSDB, STATE_PROVIDER, state_provider

STATE_STORES = {
    StateStore.ROCKSDB: {
        STATE_PROVIDER: ROCKSDB,
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": "10",
        "spark.sql.streaming.stateStore.maintenanceInterval": "60s",
    },
    StateStore.MEMORY: {
        STATE_PROVIDER: IN_MEMORY,
        # A restart reads the last whole copy of the state, and all changes since: few of these.
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
        "spark.sql.streaming.stateStore.maintenanceInterval": "10s",
    },
}
"""The settings of each state store. All have the same keys, so that none stays from the session's last job."""

SHARE_VARIABLE, SHARE = "PITSTOP_STATE_MEMORY_SHARE", 0.4
"""The share of the heap that state may take before a job with state_store=auto moves to disk: an environment variable, its
default."""
SHARE_TO_START = 0.5
"""Saved state that would take more than this part of the share begins on disk: it would soon have to move."""
GROWN_IN_MEMORY, STATE_FILES = 8, "state/"
"""The most memory that state takes as a multiple of its files' size, and the place of these files in a checkpoint."""
SHARE_TO_HOLD = 1.5
"""State that takes this many times its allowance grows too fast: no epoch begins until it has moved."""


def use_state_store(spark: SparkSession, config: JobConfig, store: StateStore) -> str:
    """Let queries that start from now on without a checkpoint keep their state in ``store``; return the class of its provider."""
    for key, value in (STATE_STORES[store] | config.spark).items():
        spark.conf.set(key, value)
    return state_provider(spark)


def chosen_store(
    spark: SparkSession, config: JobConfig, plan: Plan, saved: SnapshotManifest | None, in_steps: bool
) -> StateStore:
    """Return the store of a new checkpoint, which begins with the state of ``saved``, or with none.

    ``in_steps`` says that an epoch adds only a bounded amount of state. A source without a limit reads everything that came while
    the job stood. It may then bring more keys than memory holds, at each attempt. UsageError if the configured share of the heap
    is not a share: at once, and not only when a running job is measured by it.
    """
    if config.state_store is not StateStore.AUTO:
        return config.state_store
    if config.execution is Execution.REALTIME:
        return StateStore.ROCKSDB  # Spark takes no other store there
    most = memory_for_state(spark)
    if not in_steps or not str(spark.sparkContext.master).startswith("local") or first_only_on_disk(plan) is not None:
        return StateStore.ROCKSDB
    if saved is None:
        return StateStore.MEMORY
    fits = saved.provider == IN_MEMORY and _bytes_of_state(saved) <= SHARE_TO_START * most
    return StateStore.MEMORY if fits else StateStore.ROCKSDB


def _bytes_of_state(saved: SnapshotManifest) -> int:
    """Return the bytes of memory that saved state takes, as its run reported.

    Without a report they are estimated from its files, rather too high.
    """
    sizes = [saved.stages.get(stage, {}).get("bytes") for stage in Plan.from_dict(saved.plan).stateful]
    if all(size is not None for size in sizes):
        return sum(int(size or 0) for size in sizes)
    return GROWN_IN_MEMORY * sum(file.bytes for file in saved.files if file.path.startswith(STATE_FILES))


def store_of(provider: str) -> StateStore:
    """Return the store to which a provider's class belongs."""
    return StateStore.MEMORY if provider == IN_MEMORY else StateStore.ROCKSDB


def memory_for_state(spark: SparkSession) -> int:
    """Return the number of bytes of this process's memory that state may take with state_store=auto."""
    return int(_share() * heap_part(spark))


def _share() -> float:
    text = os.environ.get(SHARE_VARIABLE, str(SHARE))
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise UsageError(f"{SHARE_VARIABLE} is {text!r}, and must be a share of the heap, such as {SHARE}: correct it.")
    return share


def stop_with_stores(spark: SparkSession) -> None:
    """Stop a session after its stores of state."""
    jvm.end_stores(spark)
    spark.stop()
