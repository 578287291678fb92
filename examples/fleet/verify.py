"""Compare what the simulators emitted with what a job has written: nothing missed, nothing doubled."""

from __future__ import annotations

import json
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
    for path in folder.rglob("*.parquet"):
        if any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts):
            continue
        table = pq.read_table(path, columns=["vin", "time"])
        found.update(zip(table["vin"].to_pylist(), table["time"].to_pylist(), strict=True))
    return found


def compare(emitted: Counter[Key], written: Counter[Key]) -> Verdict:
    """Missed: emitted and not written. Doubled: written more often than emitted."""
    return Verdict(emitted.total(), written.total(), (emitted - written).total(), (written - emitted).total())
