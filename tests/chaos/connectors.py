"""What befalls the broker, the database and the object store between which jobs run."""

from __future__ import annotations

from random import Random

from tests.brokers.broker import APACHE
from tests.chaos.connected import Connected
from tests.chaos.fault import Fault
from tests.wires import Wire

SHORTEST, LONGEST = 1.0, 20.0
LATE_SECONDS = 20.0


class Outage(Fault):
    """One that lasts as long as it draws, unless its kind says how long."""

    from_heal = True

    def __init__(self, what: str, seconds: float | None = None) -> None:
        self._seconds = seconds
        self.name = f"{what} {'1 to 20' if seconds is None else f'{seconds:.0f}'} s"

    def prepare(self, cluster: Connected, drawn: Random) -> None:
        self.hold = drawn.uniform(SHORTEST, LONGEST) if self._seconds is None else self._seconds


class BrokerKilled(Outage):
    """SIGKILL; it is started again on its data."""

    def __init__(self, seconds: float | None = None) -> None:
        super().__init__("the broker killed, away for", seconds)

    def inject(self, cluster: Connected, drawn: Random) -> None:
        cluster.broker.kill()

    def heal(self, cluster: Connected) -> None:
        cluster.broker.start()


class BrokerStopped(Outage):
    """It takes connections, and never answers."""

    def __init__(self, seconds: float | None = None) -> None:
        super().__init__("the broker stopped for", seconds)

    def inject(self, cluster: Connected, drawn: Random) -> None:
        cluster.broker.stop()

    def heal(self, cluster: Connected) -> None:
        cluster.broker.go_on()


class DatabaseKilled(Outage):
    """All processes of PostgreSQL."""

    def __init__(self, seconds: float | None = None) -> None:
        super().__init__("the database killed, away for", seconds)

    def inject(self, cluster: Connected, drawn: Random) -> None:
        cluster.database.kill()

    def heal(self, cluster: Connected) -> None:
        cluster.database.start()


class DatabaseStopped(Outage):
    """It takes connections, and never answers."""

    def __init__(self, seconds: float | None = None) -> None:
        super().__init__("the database stopped for", seconds)

    def inject(self, cluster: Connected, drawn: Random) -> None:
        cluster.database.stop()

    def heal(self, cluster: Connected) -> None:
        cluster.database.go_on()


class LakeWrong(Outage):
    """The object store takes connections and says nothing, answers 503, or ends each connection."""

    def __init__(self, what: str, state: str, seconds: float | None = None) -> None:
        super().__init__(f"the object store {what} for", seconds)
        self._state = state

    def inject(self, cluster: Connected, drawn: Random) -> None:
        cluster.lake.be(self._state)

    def heal(self, cluster: Connected) -> None:
        cluster.lake.be("passes")


class AllAround(Fault):
    """Power fails where the broker and the database are, and where the product is, too."""

    name, from_heal = "the broker, the database and everything killed at once", True

    def inject(self, cluster: Connected, drawn: Random) -> None:
        cluster.kill_everything()
        cluster.kill_server()
        cluster.broker.kill()
        cluster.database.kill()

    def heal(self, cluster: Connected) -> None:
        cluster.database.start()
        cluster.broker.start()
        cluster.start_server()


class Late(Fault):
    """Every answer comes late. Recovery is measured meanwhile: jobs go on."""

    hold = LATE_SECONDS

    def __init__(self, what: str, seconds: float) -> None:
        self._what, self._seconds = what, seconds
        self.name = f"the {what} answers {seconds:g} s late for {LATE_SECONDS:.0f} s"

    def impossible(self, cluster: Connected) -> str | None:
        return None if APACHE or self._what != "broker" else "the small broker is on no wire"

    def inject(self, cluster: Connected, drawn: Random) -> None:
        self._wire(cluster).delay = self._seconds

    def heal(self, cluster: Connected) -> None:
        self._wire(cluster).delay = 0.0

    def _wire(self, cluster: Connected) -> Wire:
        wires = {"broker": cluster.broker_wire, "database": cluster.database_wire, "object store": cluster.lake.wire}
        return wires[self._what]


class CutOff(Fault):
    """A kill while the broker or the database is away: what a run has begun there is open when the next one comes."""

    from_heal = True

    def __init__(self, outage: Outage, killed: Fault) -> None:
        self._outage, self._killed = outage, killed
        self.name = f"{outage.name}; meanwhile {killed.name}"

    def prepare(self, cluster: Connected, drawn: Random) -> None:
        self._outage.prepare(cluster, drawn)
        self._killed.prepare(cluster, drawn)
        self.hold = self._outage.hold

    def inject(self, cluster: Connected, drawn: Random) -> None:
        self._outage.inject(cluster, drawn)
        self._killed.inject(cluster, drawn)

    def heal(self, cluster: Connected) -> None:
        self._outage.heal(cluster)
        self._killed.heal(cluster)
