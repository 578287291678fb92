"""``make fuzz``: random requests for so many minutes, each round to a server with an empty store."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.api import fuzzer

EXAMPLES = 40


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    end, number, asked = time.monotonic() + 60 * options.minutes, options.seed, Counter()
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory() as folder, fuzzer(Path(folder)) as tried:
            tried.run(EXAMPLES, number)
            jobs, snapshots, maps = tried.read_everything()
            asked += tried.asked
        kept = f"{jobs} jobs, {snapshots} snapshots, {maps} maps"
        print(f"seed {number}: {tried.asked.total()} requests; {kept}: all readable", flush=True)
        number += 1
    print(f"{asked.total()} requests in {number - options.seed} rounds, answers by status: {dict(sorted(asked.items()))}")
    return 0


sys.exit(main())
