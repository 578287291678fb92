"""Provider Alpha: appends ``vin,latitude,longitude,time`` to one CSV file per vehicle."""

from __future__ import annotations

import argparse
import json
import os
import random
from pathlib import Path

from fleetsim.pacing import Stop, paced
from fleetsim.world import START_TIME, Ping, World, is_alpha


def line(ping: Ping) -> str:
    """One line of a vehicle's file."""
    return f"{ping.vin},{ping.latitude!r},{ping.longitude!r},{ping.time!r}\n"


def append(folder: Path, ping: Ping, parts: int = 1) -> None:
    """Append one line, in one write, or torn into two so that readers must wait for the newline."""
    data = line(ping).encode()
    cut = len(data) // 2 if parts == 2 else len(data)
    descriptor = os.open(folder / f"{ping.vin}.csv", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        for part in (data[:cut], data[cut:]):
            if part:
                os.write(descriptor, part)
    finally:
        os.close(descriptor)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--speedup", type=float, default=30.0)
    parser.add_argument("--start-time", type=float, default=START_TIME)
    parser.add_argument("--torn", action="store_true", help="write some lines in two parts")
    options = parser.parse_args()
    options.dir.mkdir(parents=True, exist_ok=True)
    stop, tearing, count = Stop(), random.Random(options.seed), 0
    for ping in paced(World(options.seed, start_time=options.start_time), options.speedup, stop):
        if is_alpha(ping.vin):
            append(options.dir, ping, 2 if options.torn and tearing.random() < 0.2 else 1)
            count += 1
    print(json.dumps({"simulator": "alpha", "pings": count}), flush=True)


if __name__ == "__main__":
    main()
