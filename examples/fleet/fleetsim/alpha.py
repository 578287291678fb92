"""Provider Alpha: appends ``vin,latitude,longitude,time`` to one CSV file per vehicle.

SIGTERM or SIGINT ends it after the current line; then it prints its count as one line of JSON. Started again on the
same folder with the same start time, it appends the same pings once more.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
from pathlib import Path

from fleetsim.options import positive_count, say, simulator_parser
from fleetsim.pacing import Signals, paced
from fleetsim.topic import PingTopic, add_options
from fleetsim.world import Ping, World

TORN_SHARE = 0.2


def line(ping: Ping) -> str:
    """One line of a vehicle's file; its numbers parse back to exactly the same floats."""
    return f"{ping.vin},{ping.latitude!r},{ping.longitude!r},{ping.time!r}\n"


class VehicleFiles:
    """Appends lines, each in one write.

    With ``tearing``, every fifth line or so is cut somewhere, and its rest comes only when the next line is due:
    until then a reader finds a line without newline, and must wait.
    """

    def __init__(self, folder: Path, tearing: random.Random | None = None) -> None:
        self._folder, self._tearing = folder, tearing
        self._rest: tuple[Path, bytes] | None = None

    def append(self, ping: Ping) -> None:
        """Complete the line before, then write this one or the first part of it."""
        self.complete()
        data, path = line(ping).encode(), self._folder / f"{ping.vin}.csv"
        if self._tearing and self._tearing.random() < TORN_SHARE:
            cut = self._tearing.randrange(1, len(data))
            self._rest = (path, data[cut:])
            data = data[:cut]
        _write(path, data)

    def complete(self) -> None:
        """Write the rest of a torn line, if there is one."""
        if self._rest:
            _write(*self._rest)
            self._rest = None


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        os.close(descriptor)


def parser() -> argparse.ArgumentParser:
    parser = simulator_parser(__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="folder of the files; made if it is not there")
    parser.add_argument("--until-pings", type=positive_count, help="end by itself after so many pings")
    parser.add_argument("--torn", action="store_true", help="write some lines in two parts, a while apart")
    add_options(parser)
    return parser


def main() -> None:
    options = parser().parse_args()
    options.dir.mkdir(parents=True, exist_ok=True)
    signals, count = Signals(), 0
    files = VehicleFiles(options.dir, random.Random(options.seed) if options.torn else None)
    pings = itertools.islice(World(options.seed, start_time=options.start_time).alpha_pings(), options.until_pings)
    topic = PingTopic(options, "alpha")
    for ping in paced(pings, options.start_time, options.speedup, signals):
        files.append(ping)
        topic.send(ping)
        count += 1
    files.complete()
    topic.complete()
    if signals.frozen:
        say("alpha", frozen=True, pings=count)
        signals.wait_asked()
    say("alpha", pings=count)


if __name__ == "__main__":
    main()
