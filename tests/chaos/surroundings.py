"""What is around the product: its store, its disk, what it reads, the clock."""

from __future__ import annotations

import os
import sqlite3
import time
from random import Random

from tests.chaos.cluster import ChaosFailedError, Cluster
from tests.chaos.fault import Fault
from tests.chaos.feeds import Answer

MEGABYTE = bytes(1 << 20)


class StoreLocked(Fault):
    """Somebody holds a write transaction."""

    from_heal = True

    def __init__(self, seconds: float) -> None:
        self.name, self.hold = f"the store locked for {seconds:.0f} s", seconds

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        self._store = sqlite3.connect(cluster.data.store, isolation_level=None, timeout=30, check_same_thread=False)
        self._store.execute("BEGIN IMMEDIATE")

    def heal(self, cluster: Cluster) -> None:
        self._store.execute("COMMIT")
        self._store.close()


class DiskFull(Fault):
    """A file fills the small disk that holds all that the product writes."""

    from_heal = True

    def __init__(self, seconds: float) -> None:
        self.name, self.hold = f"the disk full for {seconds:.0f} s", seconds

    def impossible(self, cluster: Cluster) -> str | None:
        return None if os.path.ismount(cluster.small) else "no small disk could be mounted here"

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        with (cluster.small / "full").open("wb", buffering=0) as file:
            try:
                while file.write(MEGABYTE):
                    pass
            except OSError:
                return

    def heal(self, cluster: Cluster) -> None:
        (cluster.small / "full").unlink()


class HttpWrong(Fault):
    """The HTTP server answers wrongly for a while."""

    hold, from_heal = 4.0, True

    def __init__(self, answer: Answer) -> None:
        self.name, self._answer = f"HTTP answers {answer} for {self.hold:.0f} s", answer

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        cluster.feeds.objects.answer = self._answer

    def heal(self, cluster: Cluster) -> None:
        cluster.feeds.objects.answer = Answer.RIGHT


class CsvRotated(Fault):
    """The file gets another name, and a new one is begun, while it is read."""

    name = "the CSV file rotated"

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        cluster.feeds.pause()
        cluster.feeds.lines.rotate()
        cluster.feeds.resume()


class CsvTruncated(Fault):
    """The file is written over from its beginning. What was not read before is lost, as documented: so all has been read."""

    name = "the CSV file truncated"

    def prepare(self, cluster: Cluster, drawn: Random) -> None:
        cluster.feeds.pause()
        try:
            cluster.wait(lambda: all(map(cluster.lines_read, ("spans", "pairs"))), "all lines are read", step=0.2)
        except ChaosFailedError:
            cluster.feeds.resume()
            raise

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        cluster.feeds.lines.truncate()
        cluster.feeds.resume()


class SinkMoody(Fault):
    """A sink of a user's own does not do what it should; what it leaves unread must not be missing in any state."""

    hold, from_heal = 5.0, True

    def __init__(self, mood: str) -> None:
        self.name, self._mood = f"a sink {mood} for {self.hold:.0f} s", mood

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        cluster.feeds.mood.write_text(self._mood)

    def heal(self, cluster: Cluster) -> None:
        cluster.feeds.mood.write_text("")


class TableAway(Fault):
    """The folder of a table is gone."""

    name, hold = "the folder of a table away for 6 s", 6.0

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        cluster.feeds.table.take_away()

    def heal(self, cluster: Cluster) -> None:
        cluster.feeds.table.bring_back()


class TableTorn(Fault):
    """The file of a table is there in part."""

    name, hold = "the file of a table torn for 6 s", 6.0

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        cluster.feeds.table.tear()

    def heal(self, cluster: Cluster) -> None:
        cluster.feeds.table.write_over()


class TableWrittenOver(Fault):
    """The folder of a table is emptied and filled again, as often as can be while it is read."""

    name = "the folder of a table written over 50 times"

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        for _ in range(50):
            cluster.feeds.table.write_over()
            time.sleep(drawn.random() / 10)


class TimesAhead(Fault):
    """Events of another century come."""

    name = "events of the year 2200"

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        cluster.feeds.add_wild()


class Silence(Fault):
    """No feed has an event."""

    name, hold, from_heal = "silence for 15 s", 15.0, True

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        cluster.feeds.pause()

    def heal(self, cluster: Cluster) -> None:
        cluster.feeds.resume()


class ClockStepped(Fault):
    """The wall clock of the product's Python processes; not that of its JVMs."""

    hold = 6.0

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self.name = f"the clock {'ahead' if seconds > 0 else 'behind'} by an hour for {self.hold:.0f} s"

    def inject(self, cluster: Cluster, drawn: Random) -> None:
        cluster.step_clock(self._seconds)

    def heal(self, cluster: Cluster) -> None:
        cluster.step_clock(0)
