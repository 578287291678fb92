"""What befalls two servers and the PostgreSQL that they share."""

from __future__ import annotations

import signal
from random import Random

from tests.chaos.fault import Fault
from tests.chaos.pair import Pair


class StoreKilled(Fault):
    """All processes of PostgreSQL."""

    from_heal = True

    def __init__(self, seconds: float) -> None:
        self.name, self.hold = f"PostgreSQL killed, away for {seconds:.0f} s", seconds

    def inject(self, cluster: Pair, drawn: Random) -> None:
        cluster.store.kill()

    def heal(self, cluster: Pair) -> None:
        cluster.store.start()


class StoreStopped(Fault):
    """It takes connections, and never answers."""

    from_heal = True

    def __init__(self, seconds: float) -> None:
        self.name, self.hold = f"PostgreSQL stopped for {seconds:.0f} s", seconds

    def inject(self, cluster: Pair, drawn: Random) -> None:
        cluster.store.stop()

    def heal(self, cluster: Pair) -> None:
        cluster.store.go_on()


class LeaderFault(Fault):
    """Over once the other server leads: from then on jobs are looked after again."""

    def __init__(self, what: str, number: signal.Signals, seconds: float) -> None:
        self.name, self.hold, self._number = f"the server that leads {what} {seconds:.0f} s", seconds, number

    def inject(self, cluster: Pair, drawn: Random) -> None:
        self._other = cluster.disturb_leader(self._number)

    def over(self, cluster: Pair) -> bool:
        return bool(self._other.leader() == self._other.address)

    def heal(self, cluster: Pair) -> None:
        cluster.wake_servers()
        cluster.start_server()


class LeaderKilled(LeaderFault):
    def __init__(self) -> None:
        super().__init__("killed, away for", signal.SIGKILL, 15.0)


class LeaderStopped(LeaderFault):
    def __init__(self) -> None:
        super().__init__("stopped for", signal.SIGSTOP, 15.0)
