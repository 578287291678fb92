"""The log levels of a run, in its own process, its JVM and its Python workers, which change while it runs."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.machine.log_levels import LOOK_SECONDS, Follower, Levels, write_levels
from pitstop.machine.logs import apply_levels
from pitstop.spark.base.session import is_joined
from pitstop.spark.internals.jvm_logs import apply_to_jvm

log = logging.getLogger("pitstop.runner")


class RunLevels:
    """``for_workers`` is the file that the Python workers look at (machine.log_levels.VARIABLE).

    The JVM of an engine keeps its own levels: other jobs print there, too.
    """

    def __init__(self, spark: SparkSession, for_workers: Path) -> None:
        self._java = None if is_joined(spark) else spark
        self._for_workers = for_workers
        for_workers.unlink(missing_ok=True)  # of an earlier run
        self._ended = threading.Event()

    def follow(self, *files: Path) -> None:
        """Follow these files from now on, and no others any more. Later files override earlier ones."""
        self._ended.set()
        ended = self._ended = threading.Event()
        follower = Follower(files, self._apply, log.warning)

        def keep_looking() -> None:
            while not ended.is_set():
                follower.look()
                ended.wait(LOOK_SECONDS)

        threading.Thread(target=keep_looking, daemon=True, name="log-levels").start()

    def _apply(self, levels: Levels) -> None:
        apply_levels(levels)
        log.info("log levels: %s", ", ".join(f"{name} {level}" for name, level in levels.items()) or "the usual ones")
        try:
            write_levels(self._for_workers, levels)
            if self._java is not None:
                apply_to_jvm(self._java, levels)
        except Exception as error:  # the JVM may be ending: no run ends for its log
            log.warning("log levels could not be changed everywhere: %s: %s", type(error).__name__, error)
