"""``python -m tests.soak [--chains 30] [--seed 1]``: run chains and stories, a line each; exit code 1 if one fails."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.environment import set_environment
from tests.soak import generator
from tests.soak.runner import ChainFailedError, Worker, run_chain
from tests.soak.served.server import Server
from tests.soak.served.story import story
from tests.soak.served.teller import StoryFailedError, Teller


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--chains", type=int, default=30, help="how many, and as many stories")
    parser.add_argument("--seed", type=int, default=1, help="of the first; the others follow")
    parser.add_argument("--only", choices=("chains", "stories"), help="leave the others out")
    parser.add_argument("--keep", type=Path, help="folder for what they write (default: a temporary one)")
    parser.add_argument("--show", action="store_true", help="only tell what they are")
    options = parser.parse_args()
    set_environment()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="soak-"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started, in sessions of its own, is ended too
    soak = Soak(folder, options.show)
    with contextlib.closing(soak):
        for number, seed in enumerate(range(options.seed, options.seed + options.chains), 1):
            place = f"{number}/{options.chains} seed {seed}"
            if options.only != "stories":
                soak.chain(place, seed)
            if options.only != "chains":
                soak.story(place, seed)
    if not options.show:
        print(f"{soak.equal} of {soak.count} gave what the reference gives.")
    return 0 if soak.equal == soak.count else 1


class Soak:
    """What is shared by chains, and by stories: a worker process, and a server; and how they went."""

    def __init__(self, folder: Path, only_shown: bool) -> None:
        self._folder, self._only_shown = folder, only_shown
        self._worker = Worker(folder / "worker")
        self._server: Server | None = None
        self.count = self.equal = 0

    def chain(self, place: str, seed: int) -> None:
        """All versions of a chain."""

        def run() -> str:
            outcome = run_chain(self._worker, seed, self._folder / f"chain-{seed}")
            return f"{outcome.rows:,} rows, {outcome.kills} kills, {', '.join(outcome.ways)}"

        self._run(f"{place}: {changes_of(seed)}", f"--only chains --seed {seed}", run)

    def story(self, place: str, seed: int) -> None:
        """All that befalls one job of the server."""

        def run() -> str:
            if self._server is None:
                self._server = Server(self._folder / f"server-{seed}").__enter__()
            return f"{Teller(self._server, story(seed), self._folder / f'story-{seed}').tell():,} rows"

        self._run(f"{place}: {story(seed).text}", f"--only stories --seed {seed}", run)

    def close(self) -> None:
        """End all that was started."""
        self._worker.close()
        if self._server is not None:
            self._server.__exit__(None, None, None)
            self._server = None

    def _run(self, title: str, again: str, work: Callable[[], str]) -> None:
        print(title, flush=True)
        if self._only_shown:
            return
        began, self.count = time.monotonic(), self.count + 1
        try:
            told = work()
        except (ChainFailedError, StoryFailedError) as error:
            self.close()  # whatever state they are in
            print(f"    FAILS after {time.monotonic() - began:.0f} s: {error}", flush=True)
            print(f"    again: python -m tests.soak --chains 1 {again}", flush=True)
        else:
            self.equal += 1
            print(f"    equal: {told}, {time.monotonic() - began:.0f} s", flush=True)


def changes_of(seed: int) -> str:
    """All versions of a chain in one line."""
    return " | ".join("; ".join(version.changes) for version in generator.chain(seed).versions)


if __name__ == "__main__":
    sys.exit(main())
