"""Makes lines of the run's log of all that its executors print, on any member."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.machine.new_lines import NewLines
from pitstop.machine.rotating import in_our_form
from pitstop.model.cluster import ClusterSettings
from pitstop.model.data_folder import DataFolder
from pitstop.model.process_folders import MemberFolder

LOOK_SECONDS = 1.0
MOST_BYTES = 1 << 20
"""The most bytes that one look reads of a file. The next look goes on from there."""
OUTPUTS = "std*"
"""The files of an executor's output in its folder, with the parts that Spark's worker has rotated, maybe within a line."""
WRITTEN_NOW = ("stderr", "stdout")
"""The files that still grow. An older part has a time behind that name."""


class ExecutorLogs:
    """Reads new output of executors. ``write`` takes a line with its end."""

    def __init__(self, data: DataFolder, application: str, write: Callable[[bytes], object] | None = None) -> None:
        self._data, self._application = data, application
        self._write = write or (lambda line: os.write(2, line))
        self._new: dict[Path, NewLines] = {}
        """Folder of an executor -> the reader of its output."""
        self._looking = threading.Lock()

    def follow(self) -> None:
        """Follow the executors until the process ends, and read their last output then."""
        ended = threading.Event()

        def keep_looking() -> None:
            while not ended.wait(LOOK_SECONDS):
                self.look()

        def end() -> None:
            ended.set()
            while self.look():
                pass

        atexit.register(end)
        threading.Thread(target=keep_looking, daemon=True, name="executor-logs").start()

    def look(self) -> bool:
        """Look once; return True if there was new output. A folder that cannot be read now is read at the next look."""
        written = False
        with self._looking:
            for member in self._data.members.glob("*"):
                fact = f', "executor": {json.dumps(member.name)}'.encode()
                with contextlib.suppress(OSError):
                    for executor in MemberFolder(member).executors(self._application).glob("*"):
                        for line in self._new_lines(executor):
                            self._write(in_our_form(line, fact))
                            written = True
        return written

    def _new_lines(self, executor: Path) -> Iterator[bytes]:
        new = self._new.setdefault(executor, NewLines(MOST_BYTES))
        outputs = sorted(executor.glob(OUTPUTS))
        ended = [path for path in outputs if path.name not in WRITTEN_NOW]
        for output in new.look([path for path in outputs if path.name in WRITTEN_NOW], ended):
            yield from (line for line in output.splitlines() if line.strip())


def follow_executors(spark: SparkSession, data: DataFolder) -> None:
    """Copy the output of executors on members into the log of this process. Executors here print into it themselves."""
    if ClusterSettings.from_environment(os.environ).own is not None:
        ExecutorLogs(data, str(spark.sparkContext.applicationId)).follow()
