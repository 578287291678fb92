"""``python -m tests.chaos [--minutes 10] [--seed 1]``: faults befall three jobs; exit code 1 if a row is lost or doubled."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import tempfile
from pathlib import Path

from tests.chaos.run import Outcome, run
from tests.chaos.schedule import ALL, SHORT
from tests.environment import set_environment

PAGE = Path(__file__).parents[2] / "docs" / "chaos.md"
LONG_MINUTES = 30
"""A run of so many writes its table into the docs."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--minutes", type=float, default=10, help="how long faults are injected")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spares", type=int, default=1, help="warm runners")
    parser.add_argument("--short", action="store_true", help="only what CI does")
    parser.add_argument("--only", default="", help="only faults in whose name this regular expression is found")
    parser.add_argument("--keep", type=Path, help="folder for what is written (default: a temporary one)")
    options = parser.parse_args()
    set_environment()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended, too
    folder = options.keep or Path(tempfile.mkdtemp(prefix="chaos-"))
    deck = SHORT if options.short else ALL
    deck = [made for made in deck if re.search(options.only, made().name)]
    outcome = run(folder, options.seed, options.minutes * 60, deck, lambda text: print(text, flush=True), options.spares)
    print(f"\n{outcome.table()}\n\n{outcome.verdict()}")
    if options.minutes >= LONG_MINUTES:
        PAGE.write_text(page(outcome, options.minutes, options.seed))
    return 0 if outcome.clean else 1


def page(outcome: Outcome, minutes: float, seed: int) -> str:
    """docs/chaos.md."""
    verdict = "\n".join(f"- {line}" for line in outcome.verdict().splitlines())
    return f"""# What faults cost

Written by `make chaos MINUTES={minutes:g} SEED={seed}` on a machine of {os.cpu_count()} cores. A server with two members of one
core each and one warm runner; three jobs (tests/chaos/jobs.py), each of whose feeds has 20 events a second; one fault after the
other, each once all jobs run again. Recovery: from the injection, or from the heal of what nothing can go on under, until every
job has committed rows of events that came later. With `nothing` injected that takes as long as an epoch or two. On a machine that
does other things as well these are upper bounds.

{outcome.table()}

In the end, compared with plain Python over the same events:

{verdict}
"""


if __name__ == "__main__":
    sys.exit(main())
