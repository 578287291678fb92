"""Where the state of a job lives while it runs: the settings of each store, and which one a job with state_store=auto takes."""

from __future__ import annotations

import os

from pyspark.sql import SparkSession

from pitstop.errors import UsageError
from pitstop.model.config import JobConfig, StateStore
from pitstop.model.snapshot import SnapshotManifest
from pitstop.plan.model import Plan
from pitstop.plan.rules import first_only_on_disk
from pitstop.spark.internals.jvm import heap_bytes
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
"""Settings of each state store; all have the same keys, so that none is left over from the session's last job."""

SHARE_VARIABLE, SHARE = "PITSTOP_STATE_MEMORY_SHARE", 0.4
"""How much of the heap state may take before a job with state_store=auto moves to disk: an environment variable, its default."""
SHARE_TO_START = 0.5
"""Saved state that would take more than so much of that is begun on disk: it would soon have to move."""
GROWN_IN_MEMORY, STATE_FILES = 8, "state/"
"""How many times its files' size state takes in memory at the most, and where these are in a checkpoint."""
SHARE_TO_HOLD = 1.5
"""State that takes so many times what it may grows too fast: no epoch begins until it has moved."""


def use_state_store(spark: SparkSession, config: JobConfig, store: StateStore) -> str:
    """Let queries that are started from now on, without a checkpoint, keep their state there; returns the provider's class."""
    for key, value in (STATE_STORES[store] | config.spark).items():
        spark.conf.set(key, value)
    return state_provider(spark)


def chosen_store(
    spark: SparkSession, config: JobConfig, plan: Plan, saved: SnapshotManifest | None, in_steps: bool
) -> StateStore:
    """The store of a new checkpoint, which begins with the state of ``saved``, or with none.

    ``in_steps``: the state grows by so much in an epoch. Where a source does not say how much that reads, one that reads all that
    came while the job stood may bring more keys than memory holds, again at each try.
    UsageError if the share of the heap is none: at once, and not when a job that runs is measured by it.
    """
    if config.state_store is not StateStore.AUTO:
        return config.state_store
    most = memory_for_state(spark)
    if not in_steps or not str(spark.sparkContext.master).startswith("local") or first_only_on_disk(plan) is not None:
        return StateStore.ROCKSDB
    if saved is None:
        return StateStore.MEMORY
    fits = saved.provider == IN_MEMORY and _bytes_of_state(saved) <= SHARE_TO_START * most
    return StateStore.MEMORY if fits else StateStore.ROCKSDB


def _bytes_of_state(saved: SnapshotManifest) -> int:
    """What saved state takes in memory: as its run has told, else as its files let expect, rather too much than too little."""
    known = [saved.stages.get(stage, {}).get("bytes") for stage in Plan.from_dict(saved.plan).stateful]
    if all(size is not None for size in known):
        return sum(int(size or 0) for size in known)
    return GROWN_IN_MEMORY * sum(file.bytes for file in saved.files if file.path.startswith(STATE_FILES))


def store_of(provider: str) -> StateStore:
    """The store that a provider's class belongs to."""
    return StateStore.MEMORY if provider == IN_MEMORY else StateStore.ROCKSDB


def memory_for_state(spark: SparkSession) -> int:
    """How many bytes state may take in memory in this process, with state_store=auto."""
    return int(_share() * heap_bytes(spark))


def _share() -> float:
    text = os.environ.get(SHARE_VARIABLE, str(SHARE))
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise UsageError(f"{SHARE_VARIABLE} is {text!r}, and is to be a share of the heap, such as {SHARE}: correct it.")
    return share
