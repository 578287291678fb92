"""``python -m tests.chaos [--minutes 10] [--seed 1]``: faults befall three jobs; exit code 1 if a row is lost or doubled.

With a PostgreSQL (scripts/with-postgres) two servers that share it follow, then three jobs between it, a broker and an object
store, each with each kind of fault once.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import tempfile
from pathlib import Path

from tests.chaos.connected import Connected
from tests.chaos.page import write_page
from tests.chaos.pair import Pair
from tests.chaos.run import Outcome, Start, run
from tests.chaos.schedule import ALL, ON_CONNECTORS, ON_POSTGRES, SHORT, Makes
from tests.environment import set_environment

PAGE = Path(__file__).parents[2] / "docs" / "chaos.md"
LONG_MINUTES = 30
"""One server goes through so many before the docs get what it has found. Each of the other two goes through its deck once."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument(
        "--minutes", type=float, default=10, help="until then faults go on once each kind has come (0: not at all)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spares", type=int, default=1, help="warm runners")
    parser.add_argument("--short", action="store_true", help="only what CI does")
    parser.add_argument("--only", default="", help="only faults in whose name this regular expression is found")
    parser.add_argument("--clusters", default="one,two,connected", help="which of the three runs (default: all)")
    parser.add_argument("--on-time", action="store_true", help="kinds that have not come within the minutes do not come")
    parser.add_argument("--keep", type=Path, help="folder for what is written (default: a temporary one)")
    options = parser.parse_args()
    set_environment()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended, too
    folder = options.keep or Path(tempfile.mkdtemp(prefix="chaos-"))

    def chosen(deck: list[Makes]) -> list[Makes]:
        return [made for made in deck if re.search(options.only, made().name)]

    def say(text: str) -> None:
        print(text, flush=True)

    clusters = options.clusters.split(",")
    with_postgres = "PITSTOP_TEST_POSTGRES" in os.environ and not options.short
    outcomes: dict[str, Outcome] = {}
    seconds, each = options.minutes * 60, not options.on_time
    if "one" in clusters and (deck := chosen(SHORT if options.short else ALL)):
        outcomes["one"] = run(folder / "one", options.seed, seconds, deck, say, options.spares, each=each)
    further: dict[str, tuple[list[Makes], Start]] = {"two": (ON_POSTGRES, Pair), "connected": (ON_CONNECTORS, Connected)}
    for name, (whole_deck, start) in further.items():
        if with_postgres and name in clusters and (deck := chosen(whole_deck)):
            time = seconds if options.on_time else 0
            outcomes[name] = run(folder / name, options.seed, time, deck, say, options.spares, start, each)
    for outcome in outcomes.values():
        say(f"\n{outcome.table()}\n\n{outcome.verdict()}")
    if not (options.short or options.only or options.on_time):
        whole = {name: outcome for name, outcome in outcomes.items() if name != "one" or options.minutes >= LONG_MINUTES}
        asked = f"MINUTES={options.minutes:g} SEED={options.seed} CLUSTERS={','.join(whole)}"
        for line in write_page(PAGE, whole, asked):
            say(line)
    return 0 if all(outcome.clean for outcome in outcomes.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
