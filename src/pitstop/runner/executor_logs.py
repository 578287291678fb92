"""What the executors of a run print, on whatever member they are, becomes lines of the run's own log."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.kit.rotating import in_our_form
from pitstop.model.cluster import ClusterSettings
from pitstop.model.data_folder import DataFolder, MemberFolder

LOOK_SECONDS = 1.0
MOST_BYTES = 1 << 20
"""Of a file at one look; the next ones go on from there."""
OUTPUTS = "*/std*"
"""In the folder of an application: what each executor has printed, with the parts that Spark's worker has rotated."""
WRITTEN_NOW = ("stderr", "stdout")
"""Those that still grow; an older part bears a time behind that."""


class ExecutorLogs:
    """Reads what is new in them. ``write`` takes a line with its end."""

    def __init__(self, data: DataFolder, application: str, write: Callable[[bytes], object] | None = None) -> None:
        self._data, self._application = data, application
        self._write = write or (lambda line: os.write(2, line))
        self._read: dict[tuple[Path, int], int] = {}
        """(folder of an executor, number of a file there, which rotation does not change) -> how much of it is read."""
        self._looking = threading.Lock()

    def follow(self) -> None:
        """From now on, until the process ends; what they print last is read then."""
        atexit.register(self.look)
        ended = threading.Event()
        atexit.register(ended.set)

        def keep_looking() -> None:
            while not ended.wait(LOOK_SECONDS):
                self.look()

        threading.Thread(target=keep_looking, daemon=True, name="executor-logs").start()

    def look(self) -> None:
        """Once. A folder that cannot be read now is read at the next look."""
        with self._looking:
            for member in self._data.members.glob("*"):
                fact = f', "executor": {json.dumps(member.name)}'.encode()
                with contextlib.suppress(OSError):
                    for line in self._new_lines(MemberFolder(member).executors(self._application)):
                        self._write(in_our_form(line, fact))

    def _new_lines(self, folder: Path) -> Iterator[bytes]:
        # Older parts first.
        for path in sorted(folder.glob(OUTPUTS), key=lambda path: (path.name in WRITTEN_NOW, path)):
            with path.open("rb") as file:
                facts = os.fstat(file.fileno())
                known = path.parent, facts.st_ino
                begin = self._read.get(known, 0)
                file.seek(begin)
                found = file.read(MOST_BYTES)
            # The rest of a line comes later; one that is longer than all that is read at once is cut.
            end = found.rfind(b"\n") + 1 or (len(found) if len(found) == MOST_BYTES else 0)
            self._read[known] = begin + end
            yield from (line for line in found[:end].splitlines() if line.strip())


def follow_executors(spark: SparkSession, data: DataFolder) -> None:
    """Let the log of this process have what its executors print, if they are on members; here they print into it themselves."""
    if ClusterSettings.from_environment(os.environ).own is not None:
        ExecutorLogs(data, str(spark.sparkContext.applicationId)).follow()
