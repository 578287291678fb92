"""``python -m tests.chaos [--minutes 10] [--seed 1]``: faults befall three jobs; exit code 1 if a row is lost or doubled.

With a PostgreSQL (scripts/with-postgres) two servers that share it follow, each kind of fault once.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import tempfile
from pathlib import Path

from tests.chaos.page import write_page
from tests.chaos.pair import Pair
from tests.chaos.run import run
from tests.chaos.schedule import ALL, ON_POSTGRES, SHORT, Makes
from tests.environment import set_environment

PAGE = Path(__file__).parents[2] / "docs" / "chaos.md"
LONG_MINUTES = 30
"""A run of so many writes what it has found into the docs."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument(
        "--minutes", type=float, default=10, help="until then faults go on once each kind has come (0: not at all)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spares", type=int, default=1, help="warm runners")
    parser.add_argument("--short", action="store_true", help="only what CI does")
    parser.add_argument("--only", default="", help="only faults in whose name this regular expression is found")
    parser.add_argument("--keep", type=Path, help="folder for what is written (default: a temporary one)")
    options = parser.parse_args()
    set_environment()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended, too
    folder = options.keep or Path(tempfile.mkdtemp(prefix="chaos-"))

    def chosen(deck: list[Makes]) -> list[Makes]:
        return [made for made in deck if re.search(options.only, made().name)]

    def say(text: str) -> None:
        print(text, flush=True)

    outcomes = []
    if deck := chosen(SHORT if options.short else ALL):
        outcomes.append(run(folder / "one", options.seed, options.minutes * 60, deck, say, options.spares))
    with_postgres = "PITSTOP_TEST_POSTGRES" in os.environ and not options.short
    if with_postgres and (deck := chosen(ON_POSTGRES)):
        outcomes.append(run(folder / "two", options.seed, 0, deck, say, options.spares, Pair))
    for outcome in outcomes:
        say(f"\n{outcome.table()}\n\n{outcome.verdict()}")
    if not (options.short or options.only) and options.minutes >= LONG_MINUTES:
        left_out = write_page(PAGE, outcomes, f"MINUTES={options.minutes:g} SEED={options.seed}")
        say(f"\n{PAGE.name} is as it was: {left_out}." if left_out else f"\n{PAGE.name} is written.")
    return 0 if all(outcome.clean for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
