"""``python -m tests.soak [--chains 30] [--seed 1]``: run chains, a line each; exit code 1 if one fails."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.environment import set_environment
from tests.soak import generator
from tests.soak.runner import ChainFailedError, Worker, run_chain


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--chains", type=int, default=30, help="how many")
    parser.add_argument("--seed", type=int, default=1, help="of the first; the others follow")
    parser.add_argument("--keep", type=Path, help="folder for what the chains write (default: a temporary one)")
    parser.add_argument("--show", action="store_true", help="only tell what the chains are")
    options = parser.parse_args()
    set_environment()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="soak-"))
    worker, failed = Worker(folder / "worker"), []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the worker, a session of its own, is ended too
    seeds = range(options.seed, options.seed + options.chains)
    try:
        for number, seed in enumerate(seeds, 1):
            print(f"{number}/{options.chains} seed {seed}: {changes_of(seed)}", flush=True)
            if options.show:
                continue
            began = time.monotonic()
            try:
                outcome = run_chain(worker, seed, folder / f"chain-{seed}")
            except ChainFailedError as error:
                failed.append(seed)
                worker.close()  # whatever state it is in
                print(f"    FAILS after {time.monotonic() - began:.0f} s: {error}\n    again: make soak CHAINS=1 SEED={seed}")
            else:
                print(
                    f"    equal: {outcome.rows:,} rows, {outcome.kills} kills, {', '.join(outcome.ways)}, "
                    f"{time.monotonic() - began:.0f} s",
                    flush=True,
                )
    finally:
        worker.close()
    if not options.show:
        print(f"{options.chains - len(failed)} of {options.chains} chains gave what the reference gives.")
    return 1 if failed else 0


def changes_of(seed: int) -> str:
    """All versions of a chain in one line."""
    return " | ".join("; ".join(version.changes) for version in generator.chain(seed).versions)


if __name__ == "__main__":
    sys.exit(main())
