"""The Spark session of a runner process."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.launchers.processes import handle_in, is_alive, own_handle, write_handle
from pitstop.machine.log_levels import VARIABLE
from pitstop.model.cluster import ClusterSettings

OWNER = "owner.json"
"""The name of the file, in each scratch folder of a session, that tells its process."""
YOUNG_SECONDS = 600.0
"""The age, in seconds, up to which a scratch folder without an owner may still get one."""


def session(work_dir: Path, forks: Path | None = None) -> SparkSession:
    """Return a session with our settings and sources, on the cluster that the environment names, working in ``work_dir``.

    Scratch folders that earlier processes have left there are removed. ``forks``: the socket at which its Python workers are
    forked; None if they are started.
    """
    from pitstop.spark.base.engines import fork_workers
    from pitstop.spark.base.session import build_session, scratch_of, temporary_of
    from pitstop.spark.sources import register

    remove_left_scratch(work_dir, time.time())
    remove_left_temporary(time.time())
    cluster, levels = ClusterSettings.from_environment(os.environ), levels_of_workers(work_dir)
    os.environ[VARIABLE] = str(levels)  # the JVM and its Python workers inherit it, those of other machines do not
    settings = {} if cluster.is_here else {f"spark.executorEnv.{VARIABLE}": str(levels)}
    spark = build_session(cluster, work_dir, settings)
    for folder in (scratch_of(spark), temporary_of(spark)):
        write_handle(folder / OWNER, own_handle())
    if forks is not None:
        fork_workers(spark, forks)
    register(spark)
    return spark


def own_scratch(spark: SparkSession) -> SparkSession:
    """Set up a session of an engine as :func:`session` sets up its own, but without our sources; return it."""
    from pitstop.spark.base.session import scratch_of

    scratch = scratch_of(spark)
    remove_left_scratch(scratch.parent, time.time())
    write_handle(scratch / OWNER, own_handle())
    return spark


def levels_of_workers(work_dir: Path) -> Path:
    """Return the file that tells the Python workers of a session their log levels."""
    return work_dir.absolute() / "levels.json"


def remove_left_scratch(work_dir: Path, now: float) -> None:
    """Remove the scratch folders of sessions whose processes are gone: a killed one leaves its folder, with all its state."""
    from pitstop.spark.base.session import SCRATCH_PREFIX

    _remove_left(work_dir.glob(f"{SCRATCH_PREFIX}*"), now)


def remove_left_temporary(now: float) -> None:
    """Remove temporary files that the Java of sessions has left in shared folders of the machine, if their processes are gone."""
    from pitstop.machine.temporary import PREFIX, places

    for place in places():
        _remove_left(place.glob(f"{PREFIX}*"), now)


def _remove_left(folders: Iterable[Path], now: float) -> None:
    for folder in folders:
        try:
            facts = folder.lstat()
        except FileNotFoundError:  # another one has removed it
            continue
        if facts.st_uid != os.geteuid():
            continue
        owner = handle_in(folder / OWNER)
        if not is_alive(owner) if owner is not None else now - facts.st_mtime > YOUNG_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
