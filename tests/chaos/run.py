"""One run of chaos: faults, one after the other, and what they cost."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from pitstop.errors import PitstopError
from tests.chaos.cluster import ChaosFailedError, Cluster
from tests.chaos.fault import Fault
from tests.chaos.outputs import Difference
from tests.chaos.schedule import Makes, kinds, schedule

DISK = "1536m"
TRIES = 3
"""A kind that is refused so often is not waited for any more."""
Say = Callable[[str], None]
Start = Callable[[Path, Path, int], Cluster]


@dataclass
class Outcome:
    """What became of a run."""

    kinds: tuple[str, ...] = ()
    """The faults of the deck."""
    recoveries: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Fault -> seconds, of each time."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Fault -> why it could not be injected here, or was refused."""
    differences: list[Difference] = field(default_factory=list)
    failure: str = ""
    """What went wrong before the outputs could be compared."""
    seed: int = 0
    happened: list[str] = field(default_factory=list)
    """All faults in their order."""

    @property
    def never(self) -> list[str]:
        """Kinds of which none was injected and recovered from."""
        return [kind for kind in self.kinds if kind not in self.recoveries]

    @property
    def clean(self) -> bool:
        return not self.failure and not any(found.lost or found.doubled for found in self.differences)

    def table(self) -> str:
        """As Markdown: fault, times injected, recovery p50 and max."""
        lines = ["| fault | times | recovery p50 | max |", "|---|---|---|---|"]
        for name, took in sorted(self.recoveries.items()):
            lines.append(f"| {name} | {len(took)} | {statistics.median(took):.1f} s | {max(took):.1f} s |")
        lines += [f"| {name} | not: {self.skipped.get(name, 'the run ended before')} | | |" for name in sorted(self.never)]
        return "\n".join(lines)

    def verdict(self) -> str:
        """How much has befallen the jobs, and what came of it: a line for each folder and map."""
        times = sum(map(len, self.recoveries.values()))
        came = f"{times} faults, of {len(self.kinds) - len(self.never)} of {len(self.kinds)} kinds"
        lines = [came, *([self.failure] if self.failure else []), *map(str, self.differences)]
        if not self.clean:
            lines.append(f"with seed {self.seed}, in this order: {', '.join(self.happened) or 'no fault'}")
        return "\n".join(lines)


def run(
    folder: Path,
    seed: int,
    seconds: float,
    deck: list[Makes],
    say: Say,
    spares: int = 1,
    start: Start = Cluster,
    each: bool = True,
) -> Outcome:
    """Let each kind happen once, and more until so many seconds are over; then compare.

    With ``each`` false, kinds that have not come by then do not come. Nothing that was started is left, however it ends.
    """
    outcome = Outcome(tuple(kinds(deck)), seed=seed)
    with small_disk(folder / "small") as small, contextlib.closing(start(folder, small, spares)) as cluster:
        try:
            cluster.start()
            say(f"all jobs have begun: {cluster.state()}")
            befall(cluster, outcome, schedule(seed, deck), time.monotonic() + seconds, say, each)
            outcome.differences = cluster.compare()
        except (ChaosFailedError, PitstopError) as error:
            outcome.failure = str(error)
        cluster.keep_logs(folder / "kept")
    return outcome


def befall(
    cluster: Cluster, outcome: Outcome, happens: Iterator[tuple[Fault, Random]], until: float, say: Say, each: bool = True
) -> None:
    """Let them happen until so many seconds of the monotonic clock, and with ``each`` as long as a kind has yet to come."""
    began, to_come, tried = time.monotonic(), set(outcome.kinds if each else ()), Counter[str]()
    cluster.wait_settled()
    for fault, drawn in happens:
        if time.monotonic() >= until:
            if not to_come:
                return
            if fault.name not in to_come:
                continue
        tried[fault.name] += 1
        why = fault.impossible(cluster)
        if why is not None or tried[fault.name] == TRIES:
            to_come.discard(fault.name)
        if why is not None:
            outcome.skipped[fault.name] = why
            continue
        place = f"{time.monotonic() - began:6.0f} s"
        outcome.happened.append(fault.name)
        try:
            took = recovery(cluster, fault, drawn)
            say(f"{place}  {fault.name}: {took:.1f} s")
            outcome.recoveries[fault.name].append(took)
            to_come.discard(fault.name)
            cluster.wait_settled()
        except PitstopError as error:
            say(f"{place}  {fault.name}: refused: {error}")
            outcome.skipped[fault.name] = f"refused: {error}"
            cluster.wait_settled()
        except ChaosFailedError as error:
            raise ChaosFailedError(f"{place}  {fault.name}: {error}") from error


def recovery(cluster: Cluster, fault: Fault, drawn: Random) -> float:
    """Inject and heal; the seconds until all jobs have committed what came later than the injection, or than its heal."""
    fault.prepare(cluster, drawn)
    began, healed = time.monotonic(), False
    try:
        fault.inject(cluster, drawn)
        if fault.from_heal:
            time.sleep(max(0.0, began + fault.hold - time.monotonic()))
            began, healed = time.monotonic(), True
            fault.heal(cluster)
        seq = cluster.feeds.count

        def through() -> bool:
            nonlocal healed
            if not healed and time.monotonic() >= began + fault.hold:
                healed = True
                fault.heal(cluster)
            return cluster.have(seq) and fault.over(cluster)

        cluster.wait(through, "all jobs go on")
        took = time.monotonic() - began
        time.sleep(0 if healed else max(0.0, began + fault.hold - time.monotonic()))
        return took
    finally:
        if not healed:
            fault.heal(cluster)


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A small file system of its own, in memory; where nothing may be mounted, a plain folder."""
    folder.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", folder], capture_output=True).returncode == 0
    try:
        yield folder
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", folder], check=True)
