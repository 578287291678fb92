"""Compare what the simulators emitted with what a job has written: nothing missed, nothing doubled."""

from __future__ import annotations

import functools
import json
import os
import urllib.request
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

Key = tuple[str, float]
"""(vin, time) of a ping."""


@dataclass(frozen=True)
class Verdict:
    emitted: int
    ingested: int
    missed: int
    doubled: int

    @property
    def clean(self) -> bool:
        return self.missed == 0 and self.doubled == 0


def emitted_alpha(folder: Path) -> Counter[Key]:
    """Pings in Alpha's files."""
    found: Counter[Key] = Counter()
    for path in sorted(folder.glob("*.csv")):
        for line in path.read_text().splitlines():
            vin, _, _, time = line.split(",")
            found[(vin, float(time))] += 1
    return found


def emitted_beta(url: str) -> Counter[Key]:
    """Pings that Beta has served or could serve."""
    found: Counter[Key] = Counter()
    since = -1
    while True:
        with urllib.request.urlopen(f"{url}?since={since}&limit=10000", timeout=30) as answer:
            page = json.load(answer)
        if not page:
            return found
        found.update((ping["vin"], ping["time"]) for ping in page)
        since = page[-1]["sequence"]


def ingested(folder: Path) -> Counter[Key]:
    """Pings in the files that a job has committed."""
    found: Counter[Key] = Counter()
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(("_", "."))]
        for name in names:
            if name.endswith(".parquet"):
                found.update(_pings(Path(parent) / name))
    return found


@functools.cache
def _pings(path: Path) -> tuple[Key, ...]:
    # A committed file never changes, and a job writes thousands of them.
    table = pq.read_table(path, columns=["vin", "time"])
    return tuple(zip(table["vin"].to_pylist(), table["time"].to_pylist(), strict=True))


def compare(emitted: Counter[Key], written: Counter[Key]) -> Verdict:
    """Missed: emitted and not written. Doubled: written more often than emitted."""
    return Verdict(emitted.total(), written.total(), (emitted - written).total(), (written - emitted).total())
