"""Compare what the simulators emitted with what a job has written: nothing missed, nothing doubled.

    python verify.py --alpha DIR --beta URL --ingested FOLDER

prints the verdict as one line of JSON; the exit code is 0 if it is clean, 1 if not, 2 if it cannot be told.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq

from pitstop.errors import PitstopError, UnreachableError, UsageError

PAGE = 10_000
ATTEMPTS, FIRST_PAUSE, LONGEST_PAUSE = 10, 0.05, 0.5

Key = tuple[str, float]
"""(vin, time) of a ping."""


@dataclass(frozen=True)
class Verdict:
    """Counts of pings. ``missed``: emitted, not written. ``doubled``: written more often than emitted."""

    emitted: int
    ingested: int
    missed: int
    doubled: int

    @property
    def clean(self) -> bool:
        return self.missed == 0 and self.doubled == 0


def compare(emitted: Counter[Key], written: Counter[Key]) -> Verdict:
    """Compare as multisets. A written ping that was never emitted counts as doubled."""
    return Verdict(emitted.total(), written.total(), (emitted - written).total(), (written - emitted).total())


def left_behind(emitted: Counter[Key], written: Counter[Key]) -> int:
    """Of one provider's pings, those not written though a later one of their vehicle is: a job that has ended would never read
    them, while those behind its last one wait for its next start."""
    newest: dict[str, float] = {}
    for vin, at in emitted.keys() & written.keys():
        newest[vin] = max(at, newest.get(vin, at))
    return sum(count for (vin, at), count in (emitted - written).items() if at < newest.get(vin, at))


def emitted_alpha(folder: Path) -> Counter[Key]:
    """Pings in Alpha's files; a line is one when its newline is there. UsageError if a line is no ping."""
    found: Counter[Key] = Counter()
    for path in sorted(folder.glob("*.csv")):
        *complete, _ = path.read_text().split("\n")
        found.update(_alpha_key(path, number, line) for number, line in enumerate(complete, start=1))
    return found


def emitted_beta(url: str, since: int = -1) -> Counter[Key]:
    """Pings that Beta has after sequence ``since``, read page by page; a failed poll is tried again.

    UnreachableError if Beta does not answer properly; UsageError if it has dropped pings that were asked for.
    """
    found: Counter[Key] = Counter()
    with httpx2.Client(timeout=30.0) as client:
        for ping in _beta_pings(client, url, since):
            found[(ping["vin"], ping["time"])] += 1
    return found


def ingested(folder: Path) -> Counter[Key]:
    """Pings (columns ``vin`` and ``time``) in the parquet and JSON files that a job has committed.

    A path with a part that begins with ``_`` or ``.`` is not committed. No folder, no pings: the job makes it with
    its first file. UsageError for a file of another kind, or without these columns.
    """
    found: Counter[Key] = Counter()
    for path in _committed(folder):
        found.update(_written_keys(path))
    return found


def _committed(folder: Path) -> list[Path]:
    found = []
    for parent, folders, names in os.walk(folder):
        # What is not committed is not looked into: it may vanish meanwhile.
        folders[:] = [name for name in folders if not name.startswith(("_", "."))]
        found += [Path(parent) / name for name in names if not name.startswith(("_", "."))]
    return sorted(found)


def _alpha_key(path: Path, number: int, line: str) -> Key:
    try:
        vin, _, _, seconds = line.split(",")
        return vin, float(seconds)
    except ValueError as error:
        raise UsageError(f"{path}, line {number} is no ping ({line!r}): vin,latitude,longitude,time is expected.") from error


def _beta_pings(client: httpx2.Client, url: str, since: int) -> Iterator[dict[str, Any]]:
    while True:
        page = _page(client, url, since)
        for ping in page:
            if ping["sequence"] != since + 1:
                raise UsageError(
                    f"Beta at {url} no longer has pings {since + 1} to {ping['sequence'] - 1}: "
                    f"start it with a larger --keep, or compare only what came after {ping['sequence'] - 1}."
                )
            since += 1
            yield ping
        if len(page) < PAGE:
            return


def _page(client: httpx2.Client, url: str, since: int) -> list[dict[str, Any]]:
    """One page; a poll that failed is tried again, for Beta fails on purpose when a test asks it to."""
    pause, problem = FIRST_PAUSE, ""
    for _ in range(ATTEMPTS):
        if problem:
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        try:
            answer = client.get(url, params={"since": since, "limit": PAGE})
            if answer.is_success:
                return list(answer.json())
            problem = f"it answered {answer.status_code}"
        except httpx2.HTTPError as error:
            problem = f"{type(error).__name__}: {error}"
        except ValueError:
            problem = "its answer is no JSON"
    raise UnreachableError(f"Beta at {url} gave no usable answer in {ATTEMPTS} attempts ({problem}): is it running?")


def _written_keys(path: Path) -> Iterable[Key]:
    try:
        match path.suffix:
            case ".parquet":
                table = pq.ParquetFile(path).read(columns=["vin", "time"])
                return zip(table["vin"].to_pylist(), table["time"].to_pylist(), strict=True)
            case ".json":
                rows = [json.loads(line) for line in path.read_text().splitlines()]
                return [(row["vin"], float(row["time"])) for row in rows]
    except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise UsageError(f"{path} does not hold rows with the columns vin and time ({error}).") from error
    raise UsageError(f"{path} is neither a .parquet nor a .json file: only these are read.")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alpha", type=Path, help="folder of Alpha's files")
    parser.add_argument("--beta", help="Beta's URL, http://.../pings")
    parser.add_argument("--since", type=int, default=-1, help="compare Beta's pings after this sequence only (default: all)")
    parser.add_argument("--ingested", type=Path, required=True, help="folder that the job's file sink writes")
    options = parser.parse_args()
    if options.alpha is None and options.beta is None:
        parser.error("nothing to compare with: give --alpha, --beta or both")
    try:
        emitted: Counter[Key] = Counter()
        if options.alpha is not None:
            emitted += emitted_alpha(_existing(options.alpha))
        if options.beta is not None:
            emitted += emitted_beta(options.beta, options.since)
        verdict = compare(emitted, ingested(_existing(options.ingested)))
    except PitstopError as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 2
    print(json.dumps(dataclasses.asdict(verdict)))
    return 0 if verdict.clean else 1


def _existing(folder: Path) -> Path:
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.")
    return folder


if __name__ == "__main__":
    sys.exit(main())
