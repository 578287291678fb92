"""What the story looks at, and how it says what it finds."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from stack import Stack

from pitstop.client import Client, JobHandle
from pitstop.model.data_folder import DataFolder
from pitstop.model.snapshot import SnapshotRecord

READ = re.compile(r"Added (\d+) pings\. Highest sequence number is: (\d+)")
_steps = 0


def step(text: str) -> None:
    global _steps
    _steps += 1
    print(f"\n{_steps}. {text}", flush=True)


def check(holds: bool, text: str) -> None:
    print(f"   {'ok  ' if holds else 'FAIL'} {text}", flush=True)
    if not holds:
        raise SystemExit(1)


@dataclass(frozen=True)
class Read:
    """What a run has told of an answer of Beta: which sequences it had. ``member``: where that was."""

    run: int
    member: str
    first: int
    last: int

    @classmethod
    def told_by(cls, line: dict[str, Any]) -> Read:
        """By a line of the log."""
        count, last = map(int, READ.findall(line["msg"])[0])
        return cls(line["run"], line.get("member", "the server"), last - count + 1, last)


def reads_of_beta(job: JobHandle, run: int, later: bool = False) -> list[Read]:
    """All reads of a run, in their order; ``later``: of the first run after it that has read something."""
    reads = [Read.told_by(json.loads(line)) for line in job.logs() if READ.search(line)]
    wanted = [read for read in reads if (read.run > run if later else read.run == run)]
    return [read for read in wanted if read.run == wanted[0].run]


def in_a_row(reads: list[Read]) -> bool:
    """True if each begins where the one before it ended."""
    return all(after.first == before.last + 1 for before, after in pairwise(reads))


def members_there(client: Client) -> set[str]:
    """By their names."""
    return {member.name for member in client.service.server_info().members}


def members_ended(stack: Stack) -> dict[str, int]:
    """The members that the server has let end with it, with their exit codes: it has started them, so it alone can know."""
    told = [json.loads(line) for line in DataFolder(stack.data).log.read_text().splitlines()]
    return {line["member"]: line["exit_code"] for line in told if line["msg"] == "a member has ended"}


@dataclass(frozen=True)
class Kept:
    """What must be there again when a cluster is started again."""

    jobs: dict[str, str]
    """Name -> id."""
    snapshots: list[SnapshotRecord]
    depots: dict[str, Any]
    """A map that no job writes."""
    vehicles: dict[str, Any]
    counts: dict[str, int]
    """Maps of the job, which goes on."""

    @classmethod
    def of(cls, client: Client) -> Kept:
        jobs = {job.name: job.id for job in client.jobs()}
        depots, vehicles, counts = (client.map(name).entries() for name in ("depots", "vehicles", "counts"))
        return cls(jobs, client.snapshots(), depots, vehicles, counts)

    def check_again(self, found: Kept) -> None:
        """Compare with what was found later."""
        check(found.jobs == self.jobs, f"the job has its id, {self.jobs['ingest']}")
        check(found.snapshots == self.snapshots, f"the snapshot is there: {', '.join(kept.name for kept in self.snapshots)}")
        same = found.depots == self.depots and found.vehicles.keys() == self.vehicles.keys()
        not_back = all(found.vehicles[vin]["time"] >= ping["time"] for vin, ping in self.vehicles.items())
        check(same and not_back and all(found.counts[vin] >= n for vin, n in self.counts.items()), "the maps are as they were")
