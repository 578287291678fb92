"""Which faults befall a cluster, and in which order: the same for the same seed. Each kind comes before any comes again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random

from tests.chaos.connectors import (
    AllAround,
    BrokerKilled,
    BrokerStopped,
    CutOff,
    DatabaseKilled,
    DatabaseStopped,
    LakeWrong,
    Late,
)
from tests.chaos.fault import Fault, Nothing
from tests.chaos.feeds import Answer
from tests.chaos.jobs import MOODS, WRONG
from tests.chaos.operations import (
    AddMember,
    During,
    Export,
    Operation,
    RemoveMember,
    Restart,
    SuspendAndResume,
    Update,
    WrongUpdate,
)
from tests.chaos.processes import (
    LEASE_OVER,
    LOST,
    Kill,
    KillAll,
    KillRunner,
    KillRunnerAgain,
    KillRunnerCold,
    KillServer,
    Stop,
    a_jvm,
    a_machine,
    a_member_process,
    a_runner,
    a_whole_run,
    a_worker,
    an_executor,
    the_engine,
    the_master,
    the_server,
)
from tests.chaos.servers import LeaderKilled, LeaderStopped, StoreKilled, StoreStopped
from tests.chaos.surroundings import (
    ClockStepped,
    CsvRotated,
    CsvTruncated,
    DiskFull,
    HttpWrong,
    Silence,
    SinkMoody,
    StoreLocked,
    TableAway,
    TableTorn,
    TableWrittenOver,
    TimesAhead,
)

Makes = Callable[[], Fault]
OPERATIONS = (SuspendAndResume, Restart, Export, Update)
MEMBER = "a member with all its processes"


def during_each(what: Makes) -> list[Makes]:
    """Each operation, with this fault meanwhile."""
    return [partial(_during, operation, what) for operation in OPERATIONS]


def _during(operation: Callable[[], Operation], what: Makes) -> Fault:
    return During(operation(), what())


SHORT: list[Makes] = [
    KillRunner,
    lambda: Stop("a runner", a_runner, 3, from_heal=True),
    lambda: StoreLocked(10),
    lambda: HttpWrong(Answer.HALF),
    lambda: SinkMoody(MOODS[0]),
    TimesAhead,
    Export,
]
"""One of each family: a process killed, one stopped, the store, a source, and what is asked for in between."""
ALL: list[Makes] = [
    *SHORT,
    *[Nothing, Nothing, KillRunner, KillRunnerCold, KillRunnerCold, KillRunnerAgain, KillRunnerAgain, KillServer],
    lambda: Kill(MEMBER, a_machine),
    lambda: Kill(MEMBER, a_machine),
    lambda: Kill("the JVM of a runner", a_jvm),
    lambda: Kill("a Spark worker", a_worker),
    lambda: Kill("an executor", an_executor),
    lambda: Kill("an executor", an_executor),
    lambda: Kill("the Spark master", the_master),
    lambda: Kill("a member's own process", a_member_process),
    KillAll,
    lambda: Stop("a runner", a_runner, LEASE_OVER, from_heal=True),
    lambda: Stop("the JVM of a runner", a_jvm, LEASE_OVER, from_heal=True),
    lambda: Stop("a runner with all its processes", a_whole_run, LOST),
    lambda: Stop("a Spark worker", a_worker, LEASE_OVER),
    lambda: Stop("an executor", an_executor, 5, from_heal=True),
    lambda: Stop(MEMBER, a_machine, LEASE_OVER, from_heal=True),
    lambda: Stop(MEMBER, a_machine, LOST),
    lambda: Stop("the Spark master", the_master, LEASE_OVER),
    lambda: Stop("a member's own process", a_member_process, LEASE_OVER),
    lambda: Stop("the control plane", the_server, LEASE_OVER),
    lambda: StoreLocked(60),
    lambda: DiskFull(10),
    lambda: DiskFull(30),
    *[partial(HttpWrong, answer) for answer in Answer if answer not in (Answer.RIGHT, Answer.HALF)],
    *[CsvRotated, CsvTruncated, TableAway, TableTorn, TableWrittenOver, Silence],
    *[partial(SinkMoody, mood) for mood in MOODS[1:]],
    *[partial(WrongUpdate, version) for version in WRONG],
    lambda: ClockStepped(3600),
    lambda: ClockStepped(-3600),
    *[SuspendAndResume, Restart, Update, AddMember, RemoveMember],
    *during_each(lambda: Kill("a runner", a_runner)),
    *during_each(lambda: Kill(MEMBER, a_machine)),
    *during_each(KillServer),
]

ON_POSTGRES: list[Makes] = [
    Nothing,
    lambda: StoreKilled(8),
    lambda: StoreKilled(60),
    lambda: StoreStopped(LEASE_OVER),
    lambda: StoreStopped(LOST),
    LeaderKilled,
    LeaderStopped,
    lambda: Kill("a runner", a_runner),
    lambda: Kill(MEMBER, a_machine),
    lambda: Kill("the Spark master", the_master),
    *during_each(LeaderKilled),
    lambda: During(Update(), StoreKilled(8)),
]
"""What befalls a Pair: its store and its servers, and some of what befalls others, too."""

ON_CONNECTORS: list[Makes] = [
    Nothing,
    *[BrokerKilled, BrokerKilled, BrokerStopped, BrokerStopped, DatabaseKilled, DatabaseKilled, DatabaseStopped, DatabaseStopped],
    lambda: BrokerStopped(LOST),
    lambda: DatabaseStopped(LOST),
    *[lambda: LakeWrong("silent", "stalls"), lambda: LakeWrong("silent", "stalls"), lambda: LakeWrong("silent", "stalls", LOST)],
    lambda: LakeWrong("away", "away"),
    lambda: LakeWrong("busy", "busy"),
    lambda: Late("object store", 0.5),
    lambda: Late("object store", 3.0),
    lambda: CutOff(LakeWrong("silent", "stalls"), Kill("the engine", the_engine)),
    lambda: CutOff(LakeWrong("away", "away"), Kill("a run with all its processes", a_whole_run)),
    lambda: During(Update(), LakeWrong("silent", "stalls")),
    lambda: Late("broker", 0.5),
    lambda: Late("broker", 3.0),
    lambda: Late("database", 0.5),
    lambda: Late("database", 3.0),
    lambda: CutOff(BrokerStopped(), Kill("the engine", the_engine)),
    lambda: CutOff(BrokerKilled(), Kill("the engine", the_engine)),
    lambda: CutOff(DatabaseStopped(), Kill("a run with all its processes", a_whole_run)),
    lambda: CutOff(DatabaseKilled(), BrokerKilled()),
    AllAround,
    KillRunner,
    lambda: Kill("the engine", the_engine),
    lambda: Stop("the engine", the_engine, LOST),
    lambda: Stop("a runner with all its processes", a_whole_run, LOST),
    lambda: During(Update(), BrokerKilled()),
    lambda: During(SuspendAndResume(), DatabaseKilled()),
    lambda: During(Export(), BrokerStopped()),
]
"""What befalls what is Connected: its broker, its database and its object store, and some of what befalls others, too."""


def kinds(deck: list[Makes]) -> list[str]:
    """The names of all that is in it, each once."""
    return list(dict.fromkeys(made().name for made in deck))


def schedule(seed: int, deck: list[Makes]) -> Iterator[tuple[Fault, Random]]:
    """Faults without end, each with the numbers that it draws: all of the deck in a random order, then again in another.

    In each round every kind comes once before any comes again.
    """
    order = Random(seed)
    while True:
        drawn = [made() for made in order.sample(deck, len(deck))]
        first = {fault.name: fault for fault in reversed(drawn)}
        again = [fault for fault in drawn if first[fault.name] is not fault]
        for fault in [*reversed(first.values()), *again]:
            yield fault, Random(order.random())
